"""Small exact autoregressive models; empty so far."""
