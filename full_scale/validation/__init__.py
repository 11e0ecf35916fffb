"""Validation: the records of runs held against the theory, instrument checks apart from predictions."""
