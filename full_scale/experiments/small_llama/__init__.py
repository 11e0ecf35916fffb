"""Stationary policies tested on a real Llama: predictions written down, runs under TRL, exact results."""
