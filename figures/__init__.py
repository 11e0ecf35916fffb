"""One module a figure; empty so far."""
