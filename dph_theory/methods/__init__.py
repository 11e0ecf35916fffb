"""The parts of a run, each declared once: what an advantage weighs, KL terms and whose they are, reductions.

`parts` has the vocabulary that readers, audits and the atlas share; `kl_terms` every trainer's KL term by
version, file and flag; `estimators` the terms as published; `advantages` the published advantages.
"""
