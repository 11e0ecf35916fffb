"""`dph confront`: two checkpoints from counts alone, as words, tables, a sheet of figures and a page."""
