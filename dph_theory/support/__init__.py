"""Shared code without theory for all packages: errors, files, records, processes, the terminal."""
