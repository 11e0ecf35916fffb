"""Statements on binary rewards."""
