"""The effect of the advantage's divisor, on the built-in SQL task under TRL, to the end of training."""
