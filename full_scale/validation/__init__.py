"""Validation: records of runs compared with the theory; sanity checks are separate from predictions."""
