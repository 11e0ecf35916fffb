"""What every package shares and no theory: errors, files, records, processes, the terminal."""
