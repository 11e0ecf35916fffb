"""Files that survive a killed process: tensors written atomically, and append-only journals."""
