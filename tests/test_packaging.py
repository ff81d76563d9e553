"""What a user installs: the wheel, looked into."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser

import pytest

PACKAGES = {"models", "pipelines", "transforms"}
SOURCES = [
    *sorted(PACKAGES),
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "templates",
    "tests",
    "benchmarks",
    "examples",
]


@pytest.fixture(scope="module")
def source(checkout, tmp_path_factory):
    """A copy of the checkout, since building writes into it."""
    folder = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        path = checkout / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copy(path, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source]
    subprocess.run(command, check=True, timeout=120)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_packages_are_the_three_and_no_other(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == PACKAGES | {"corpusmill-0.1.0.dist-info"}


def test_every_module_is_there_and_typed(wheel, source):
    modules = {str(path.relative_to(source)) for package in PACKAGES for path in (source / package).rglob("*.py")}
    assert {name for name in wheel.namelist() if name.endswith(".py")} == modules
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(wheel.namelist())


def test_data_files_of_the_packages_are_there_too(wheel, source):
    files = {
        str(path.relative_to(source))
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert {name for name in wheel.namelist() if not name.endswith(".py") and ".dist-info/" not in name} == files


def test_name_licence_and_entry_point(wheel, metadata):
    assert (metadata["Name"], metadata["License-Expression"]) == ("corpusmill", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
    (entry_points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "corpusmill = pipelines.cli:main" in wheel.read(entry_points).decode()


def test_no_build_of_faiss_is_in_the_core(metadata):
    core = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert core and not any(line.startswith(("faiss", "torch", "sentence")) for line in core)
    assert {"cpu", "gpu", "vllm", "formats", "minilm", "dev", "bench"} <= set(metadata.get_all("Provides-Extra"))


def test_setup_py_makes_a_source_distribution_as_beam_asks_for_it(source, tmp_path):
    command = [sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, timeout=120, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["corpusmill-0.1.0.tar.gz"]


def test_every_dependency_is_pinned(checkout):
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(need for extra in ("cpu", "formats", "minilm", "dev") for need in extras[extra]),
    ]
    lines = (checkout / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0] for line in lines if "==" in line}
    assert {_name(need) for need in needed} <= pinned
    assert "torch==2.13.0" in lines and not any(name.startswith("torchvision") for name in pinned)


def test_changelog_and_package_agree_on_the_version(checkout):
    version = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"]
    headings = [line for line in (checkout / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == f"## {version}"


def _name(requirement):
    for stop in "<>=!~[; ":
        requirement = requirement.split(stop)[0]
    return requirement.lower().replace("_", "-")
