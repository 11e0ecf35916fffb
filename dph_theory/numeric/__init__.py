"""Arrays and their checks, elementary functions, compiled symbolic expressions."""
