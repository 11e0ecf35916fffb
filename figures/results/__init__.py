"""Stored results: numbers as JSON, the toy experiments' records, drawings as files."""
