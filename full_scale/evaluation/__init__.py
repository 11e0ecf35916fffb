"""Evaluation: sampled and judged answers of a run and of its base, and the statistics computed from them."""
