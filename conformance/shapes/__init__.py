"""Random models whose every stated type, size and content is compared with runs of onnxruntime."""
