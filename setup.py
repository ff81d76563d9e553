"""Everything is in pyproject.toml. Beam's `--setup_file ./setup.py` needs a file of this name."""

from setuptools import setup

setup()
