"""Statements on finite training."""
