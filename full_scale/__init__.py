"""The same losses on Llama through Hugging Face: a pipeline of stages, a folder each."""
