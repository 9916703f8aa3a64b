"""Settings of Sphinx: ``sphinx-build -W -b html docs docs/_build``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from treadle.version import VERSION  # noqa: E402

project = "Treadle"
author = "The Treadle developers"
copyright = "The Treadle developers"
version = release = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = f"Treadle {VERSION}"
html_theme_options = {"light_css_variables": {"color-brand-primary": "#7a3b10", "color-brand-content": "#7a3b10"}}
