"""Measuring transfer between prompts: the kernel of a model's answers, from one backward pass an answer."""
