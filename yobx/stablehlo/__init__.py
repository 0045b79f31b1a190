"""StableHLO modules: reader, registry and converters to ONNX."""
