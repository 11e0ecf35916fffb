"""Validation: records of runs compared with the theory; instrument checks are separate from predictions."""
