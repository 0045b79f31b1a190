"""Shape rules, one family a module; ``yobx.onnx_optim.registry`` imports them."""

MODULES: tuple[tuple[str, ...], ...] = (
    # What most models are made of.
    (
        "cast",
        "elementwise",
        "gathering",
        "generating",
        "joining",
        "matrix",
        "normalization",
        "reducing",
        "reshaping",
        "slicing",
        "windows",
    ),
    (
        "attention",
        "branches",
        "imaging",
        "loops",
        "quantization",
        "recurrent",
        "scans",
        "selecting",
        "sequence_map",
        "sequences",
        "signal",
        "text",
    ),
    (
        "microsoft",
        "microsoft_attention",
        "microsoft_generation",
        "microsoft_packed",
        "ml",
        "training",
    ),
)
"""Names of the modules, in groups that are imported one after the other when needed."""
