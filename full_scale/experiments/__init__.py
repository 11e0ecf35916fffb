"""Experiments that hold the theory to real training; only the command line reads them."""
