"""What the advantage is divided by, on the built-in SQL task under TRL, to the end of training."""
