"""A tiny transformer trained for real: five styles, binary rewards, and which losses keep the styles."""
