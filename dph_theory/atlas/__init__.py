"""The atlas: what each published repair of the loss of diversity selects, computed from its formula alone.

A method is one declaration (`repairs`) of a formula (`updates`); what becomes of it on three small problems
(`problems`) is computed from its expected update and from chains of sampled ones (`training`), and told in
words with a margin (`rows`). No cell is typed.
"""
