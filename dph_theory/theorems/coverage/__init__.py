"""Statements on coverage."""
