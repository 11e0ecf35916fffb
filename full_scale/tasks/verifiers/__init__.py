"""Verifiers map completions to binary rewards; foreign text runs only in sandboxed processes."""
