"""Small exact language models: Markov policies, automata as verifiers, and what rewards make of them.

By dynamic programming over (automaton state, context), never by enumeration. Lengths are in symbols, logs are
natural, leading axes are batches. The names are those of `__init__.pyi`, each loaded at its first use, so
that what needs no torch waits for none.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
