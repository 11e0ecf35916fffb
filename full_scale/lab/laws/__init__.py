"""A real Llama held to the laws of training: predictions written down, runs under TRL, exact verdicts."""
