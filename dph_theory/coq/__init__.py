"""The proof kernel: theorems in Coq for every number of outcomes, and what reads and compiles them.

The `.v` files are the proofs, one a subject, and in `Numbers*.v` what the theorems say at the examples that
entries keep. `files` reads what they state, `coq` compiles them and keeps the record of the last compilation.
"""
