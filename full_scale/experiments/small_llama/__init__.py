"""Test of stationary policies on a real Llama: predictions written first, runs under TRL, exact results."""
