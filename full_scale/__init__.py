"""The same losses on Llama through Hugging Face; empty so far."""
