"""Write the lower bounds of pyproject.toml as pip constraints: ``lowest.py constraints.txt``.

The bounds are read from the one place that declares them, so the environment that tests the oldest
supported versions cannot drift from what is promised.
"""

import re
import sys
import tomllib
from pathlib import Path

# Tools of the developers: only what users install has a promised lower bound.
TOOLS = {"dev", "docs"}


def main() -> int:
    """Write ``name==bound`` for every dependency that users may install."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    groups = [project["dependencies"]]
    groups += [r for name, r in project["optional-dependencies"].items() if name not in TOOLS]
    bounds: dict[str, str] = {}
    for requirement in (item for group in groups for item in group):
        if requirement.startswith(project["name"] + "["):
            continue
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", requirement)
        if match is None:
            sys.exit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        name, bound = match.groups()
        if bounds.setdefault(name, bound) != bound:
            sys.exit(f"pyproject.toml: {name} has two lower bounds, {bounds[name]} and {bound}")
    lines = [f"{name}=={bound}\n" for name, bound in sorted(bounds.items())]
    Path(sys.argv[1]).write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
