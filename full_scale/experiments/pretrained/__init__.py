"""Test of the theory on a pretrained Llama, with open prompts whose answers have exact probabilities."""
