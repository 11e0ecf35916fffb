"""Small exact language models: Markov policies, automata as verifiers, and training with binary rewards.

Everything is computed by dynamic programming over (automaton state, context), never by enumeration. Lengths
are in symbols, logarithms are natural, leading axes are batches. The public names are listed in
`__init__.pyi` and loaded at first use, so that functions without torch do not wait for torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
