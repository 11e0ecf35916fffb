"""Arrays and their checks, functions in floats and in balls, compiled symbolic expressions."""
