"""The Coq proofs: theorems for every number of outcomes, and what reads and compiles them.

The `.v` files are the proofs, one a subject, and in `Numbers*.v` what the theorems say at the examples that
entries keep. `compiler` has Coq accept them, `printer` asks it what they say, `record` stores what it prints;
`allowed.toml` lists what they may contain and rest on. Of their text only which file requires which is read.
"""
