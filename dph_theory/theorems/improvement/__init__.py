"""Statements on improvement."""
