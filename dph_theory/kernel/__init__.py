"""The proof kernel: theorems in Coq for every number of outcomes, and what reads and compiles them.

The `.v` files are the proofs, one a subject. `files` reads their statements, `coq` compiles them and keeps
the record of the last compilation, `grammar` and `evaluation` compute what a statement says at numbers.
"""
