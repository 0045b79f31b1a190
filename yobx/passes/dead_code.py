"""What nothing reads."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

__all__ = ["remove_dead_code"]


def remove_dead_code(model: ir.Model) -> None:
    """Removes nodes and initializers without users; graph inputs stay.

    Args:
        model: Model, changed in place.
    """
    common.RemoveUnusedNodesPass()(model)
