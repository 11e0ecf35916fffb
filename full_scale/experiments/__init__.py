"""Experiments that test the theory on real training runs; only the command line imports them."""
