"""The atlas: what each published method against the loss of diversity converges to, by its formula.

A method is one declaration (`published_methods`) of a formula (`updates`); what becomes of it on three small
problems (`problems`) is computed from its expected update and from chains of sampled ones (`training`), and
put in words with a margin (`rows`). No cell is typed.
"""
