"""Models: loading, sampling, log-probabilities, adapters, and hashes that identify weights."""
