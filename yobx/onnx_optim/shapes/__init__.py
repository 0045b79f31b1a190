"""Shape rules, one family a module; ``yobx.onnx_optim.registry.load_rules`` imports them."""

MODULES: tuple[str, ...] = (
    "attention",
    "cast",
    "controlflow",
    "elementwise",
    "gathering",
    "generating",
    "joining",
    "matrix",
    "normalization",
    "recurrent",
    "reducing",
    "reshaping",
    "selecting",
    "signal",
    "slicing",
    "windows",
)
