"""Tasks: prompts, verifiers that judge answers, and where both are loaded from."""
