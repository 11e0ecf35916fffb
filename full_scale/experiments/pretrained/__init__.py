"""A pretrained Llama tested against theory: open prompts whose answers it gives exact probabilities."""
