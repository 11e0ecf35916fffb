"""Checking statements: four checks, the run over the registry, its pages and its command."""
