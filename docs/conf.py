"""How `make docs` builds the site: guides (Markdown) and the reference (docstrings)."""

import sys
from pathlib import Path

from ember.version import __version__ as release

_docs = Path(__file__).resolve().parent
sys.path.insert(0, str(_docs / "_ext"))

project = "ember"
author = "The ember authors"
copyright = author

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "plots",  # docs/_ext, as the next one
    "reference",
]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3
default_role = "code"  # docstrings write `x` for code, as Markdown does
exclude_patterns = ["_build"]
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
# An annotation that can't be evaluated is a short name, which several classes may have.
suppress_warnings = ["ref.python"]
toc_object_entries = False  # the names on a page of the reference are its title
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_title = f"ember {release}"
html_static_path = ["_static"]
html_css_files = ["ember.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#c2410c",
        "color-brand-content": "#c2410c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#fb923c",
        "color-brand-content": "#fb923c",
    },
}
