"""``python -m pytest_yobx merge ...``."""

from __future__ import annotations

import sys

from pytest_yobx.merge import main

if __name__ == "__main__":
    sys.exit(main())
