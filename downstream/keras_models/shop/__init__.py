"""Models of a shop."""
