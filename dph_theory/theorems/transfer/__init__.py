"""Statements on transfer."""
