"""How `make docs` builds the guides (Markdown) and the reference (docstrings)."""

import tomllib
from pathlib import Path

_pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"

project = "ember"
author = "The ember authors"
copyright = author
release = tomllib.loads(_pyproject.read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "code"  # docstrings write `x` for code, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "description"
html_theme = "alabaster"
html_theme_options = {"description": release, "fixed_sidebar": True}
exclude_patterns = ["_build"]
