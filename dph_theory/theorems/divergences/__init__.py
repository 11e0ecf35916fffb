"""Statements on divergences."""
