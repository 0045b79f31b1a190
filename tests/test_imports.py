"""Imports go down the ladder only, and a light package loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.repository_rules import Import, imports, sources

HEAVY = ("tensorflow", "keras", "jax", "jaxlib", "onnxruntime", "hypothesis", "torch", "tf2onnx")

# What a room may import of the project, as docs/explanation/architecture.md has it.
LADDER: dict[str, set[str]] = {
    "advice": set(),
    "errors": set(),
    "phases": set(),
    "places": set(),
    "words": set(),
    "model_files": {"errors"},
    "user_code": {"errors"},
    "onnx_optim": {"errors"},
    "xbuilder": {"errors", "onnx_optim"},
    "passes": {"errors", "onnx_optim"},
    "lowering": {"errors", "onnx_optim", "xbuilder"},
    "stablehlo": {"errors", "onnx_optim", "xbuilder", "lowering"},
    "tensorflow": {
        *(
            "errors",
            "model_files",
            "user_code",
            "onnx_optim",
            "xbuilder",
            "lowering",
            "stablehlo",
            "passes",
        ),
    },
    "jax": {
        *("errors", "places", "user_code", "onnx_optim", "xbuilder", "lowering", "stablehlo"),
        "passes",
    },
    "verification": {"errors", "onnx_optim", "phases", "places"},
}
# Allowed inside functions only: the front end is chosen by what the caller hands in.
LAZILY: dict[str, set[str]] = {
    "tensorflow": {"jax"},
    "verification": {"tensorflow", "jax"},
    "cli": {*LADDER},
}
for room in LADDER.keys() - {"advice", "errors", "phases", "places", "words"}:
    LADDER[room] |= {"advice", "words"}
LADDER |= {"cli": {"advice", "errors", "model_files", "places", "words"}, "__main__": {"cli"}}
# Heavy packages that a room may load at import, because it is about them.
OWN: dict[str, set[str]] = {
    "yobx.verification": {"onnxruntime"},
    "conformance": {"onnxruntime"},
    # Its classes are made of those of Flax; the package itself imports none of its modules.
    "conformance.jax_models": {"jax"},
    # Its cases are functions of TensorFlow.
    "conformance.tf_ops": {"tensorflow", "keras"},
    "pytest_yobx.strategies": {"hypothesis"},
}


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "yobx" and len(parts) > 1 else ""


def _all_imports() -> list[Import]:
    return [found for source in sources() for found in imports(source)]


def test_ladder_goes_down_only() -> None:
    wrong = []
    for found in _all_imports():
        room, target = _room(found.source.module), _room(found.target)
        if not room or not target or room == target or target.startswith("__"):
            continue
        allowed = LADDER.get(room, {"errors"})
        if not found.at_import:
            allowed = allowed | LAZILY.get(room, set())
        if target not in allowed:
            wrong.append(f"{found}: {room} may import {sorted(allowed)}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_room_is_on_the_ladder() -> None:
    rooms = {_room(source.module) for source in sources()} - {""}
    assert rooms <= {*LADDER, *LAZILY}, rooms - {*LADDER, *LAZILY}


def test_library_does_not_know_its_users() -> None:
    users = {"pytest_yobx", "conformance"}
    wrong = [
        str(found)
        for found in _all_imports()
        if found.source.module.split(".")[0] == "yobx"
        and found.target.split(".")[0] in users
        # The command line is the top of the library: it may show a report as the plugin does.
        and (found.at_import or _room(found.source.module) != "cli")
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_heavy_packages_are_imported_inside_functions() -> None:
    wrong = []
    for found in _all_imports():
        package = found.target.split(".")[0]
        owners = [name for name, owned in OWN.items() if package in owned]
        own = any(found.source.module.startswith(name) for name in owners)
        if found.at_import and package in HEAVY and not own:
            wrong.append(str(found))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "also_forbidden"),
    [
        ("yobx", ("onnx", "numpy", "rich")),
        ("yobx.__main__", ("onnx", "numpy", "rich")),
        ("pytest_yobx", ("onnx", "numpy", "rich", "jinja2")),
        ("yobx.onnx_optim", ("onnx_ir",)),
        ("yobx.xbuilder", ()),
        ("yobx.tensorflow", ()),
        ("yobx.tensorflow.ops", ()),
        ("yobx.stablehlo", ()),
        ("yobx.jax", ()),
        ("yobx.passes", ()),
    ],
)
def test_import_is_pure(
    module: str, also_forbidden: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    program = (
        "import json, sys, time; start = time.perf_counter(); "
        f"import {module}; seconds = time.perf_counter() - start; "
        "print(json.dumps([seconds, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    seconds, loaded = json.loads(done.stdout)
    # Told, not judged: a busy machine must not fail a test.
    record_property("import_milliseconds", round(1000 * seconds))
    assert not set(loaded) & {*HEAVY, *also_forbidden}
