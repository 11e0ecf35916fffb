"""Tasks: prompts with the verifiers that judge answers, and their loaders."""
