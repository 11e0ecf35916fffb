"""Evaluation: sampled and judged answers of a run and of its base, and what they amount to."""
