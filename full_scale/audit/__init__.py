"""Audits of an installed trainer: the divergence that its loss minimises."""
