"""What a statement is: a theorem with two sides, and the charts that draw its instances."""
