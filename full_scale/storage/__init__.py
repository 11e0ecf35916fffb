"""Files that survive a kill: tensors that are whole or absent, and journals that only grow."""
