"""What training on some prompts does to others: prompts share one policy."""
