"""Tasks small enough to enumerate every answer of a real Llama, and the Llama from which runs start."""
