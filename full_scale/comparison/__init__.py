"""Comparison: what runs measured against what the theory predicts, with a verdict each."""
