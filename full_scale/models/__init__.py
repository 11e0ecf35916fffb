"""Models: loading, sampling, log-probabilities, adapters, and the hashes that identify weights."""
