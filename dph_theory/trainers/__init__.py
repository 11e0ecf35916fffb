"""The parts of a run, each declared once: what an advantage weighs, KL terms and whose they are, reductions.

`parts` has the vocabulary that readers and audits share; `kl_terms` every trainer's KL term by
version, file and flag, and the names of the forms; `restated` computes them as the trainers' code does;
`advantages` the published advantages; `policy_losses` the trainers' policy losses, `surrogates` their form.
"""
