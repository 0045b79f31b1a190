"""Names of operations that converters may be given for."""

from __future__ import annotations

from collections.abc import Iterable

from yobx.errors import ArgumentError
from yobx.stablehlo import ir, ops
from yobx.stablehlo.convert import registry_names
from yobx.stablehlo.registry import get_stablehlo_op_registrations
from yobx.words import nearest

__all__ = ["refuse_unknown_names"]

#: What follows these is chosen by whoever writes a program.
_OPEN = ("call.", "composite.", "custom_call.")


def refuse_unknown_names(names: Iterable[str], module: ir.Module) -> None:
    """Refuses converters for operations that do not exist: their names are misspelt.

    One for an operation that this program does not have may belong to another program.

    Args:
        names: Names of operations, ``stablehlo.`` left out or not.
        module: The program.

    Raises:
        ArgumentError: If neither the program nor the dialects that JAX lowers to have it.
    """
    wanted = {name if "." in name else f"stablehlo.{name}": name for name in names}
    if not wanted:
        return
    bodies = [module.main.body, *(function.body for function in module.functions.values())]
    here = {name for body in bodies for o in body.walk() for name in registry_names(o)}
    known = here | _known()
    for full, name in wanted.items():
        if full not in known and not full.startswith(_OPEN):
            hint = nearest(full, here, n=1) or nearest(full, known, n=1)
            raise ArgumentError(
                "extra_converters names operations that exist. Received: "
                f"{name!r}, which is no operation of StableHLO and not in this program"
                f"{f'; {hint}' if hint else '.'}",
                argument="extra_converters",
            )


def _known() -> set[str]:
    from jaxlib.mlir.dialects import chlo, stablehlo

    ops.register()
    classes = (entry for dialect in (stablehlo, chlo) for entry in vars(dialect).values())
    names = {getattr(entry, "OPERATION_NAME", "") for entry in classes}
    return names | {entry.name for entry in get_stablehlo_op_registrations()}
