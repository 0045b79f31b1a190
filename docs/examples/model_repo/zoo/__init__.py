"""Seven small models of the kinds that people convert."""
