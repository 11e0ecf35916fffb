"""Answers of a model here, in vLLM or behind a server, judged one by one; and counts of correct ones."""
