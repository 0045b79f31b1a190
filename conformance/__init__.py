"""The catalogue of conformance cases and the matrix of their results; see README.md here."""
