"""Configuration of the documentation; ``tox -e docs`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from yobx import __version__

project = "yobx"
author = "The yobx developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "yobx_docs",
]
exclude_patterns = ["_build", "examples/gallery/*", "examples/model_repo/.pytest_cache"]
html_theme = "furo"
html_title = f"yobx {version}"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "examples/gallery",
    "gallery_dirs": "examples/generated",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "image_scrapers": (),
    "reset_modules": (),
    "show_memory": False,
    "min_reported_time": 5,
    "remove_config_comments": True,
}
