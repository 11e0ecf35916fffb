"""Statements on stationary."""
