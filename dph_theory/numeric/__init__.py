"""Arrays and their checks, elementary functions, roots, and numerical forms of symbolic generators."""
