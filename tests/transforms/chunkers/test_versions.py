"""Every algorithm that a chunker stands on is in its recipe, as its imports tell."""

import ast
from importlib import import_module

import pytest

from transforms.chunkers.versions import versions

# What these find of a summary is counted, and changes no cut.
ONLY_COUNTING = {f"rewriting.{name}" for name in ("bounds", "checks", "languages", "quantities", "scripts")}


def imported(name, checkout, seen):
    """The modules of ours that a module imports, and those that they import."""
    path = checkout / f"{name.replace('.', '/')}.py"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("transforms."):
            for found in (f"{node.module}.{alias.name}" for alias in node.names):
                found = found if (checkout / f"{found.replace('.', '/')}.py").exists() else node.module
                if found not in seen and (checkout / f"{found.replace('.', '/')}.py").exists():
                    seen.add(found)
                    imported(found, checkout, seen)
    return seen


@pytest.mark.parametrize("name", ["fixed", "recursive", "structural", "semantic", "pic", "llm"])
def test_whatever_a_chunker_imports_is_among_its_versions(name, checkout):
    root = f"transforms.chunkers.{name}"
    modules = {found for found in imported(root, checkout, {root}) if hasattr(import_module(found), "VERSION")}
    names = {".".join(found.split(".")[-2 if "rewriting" in found else -1 :]) for found in modules}
    assert len(names) > 3 and names - ONLY_COUNTING <= versions([name], splits=True).keys()
