"""Verifiers: completions in, binary rewards out; whatever runs foreign text runs in a sandboxed process."""
