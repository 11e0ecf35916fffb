"""A pretrained Llama held to the theory: open prompts whose answers it gives an exact law of."""
