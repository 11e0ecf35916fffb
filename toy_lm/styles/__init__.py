"""A tiny transformer, every method, its styles.

A transformer is trained on additions with five styles and binary rewards, to show which losses retain the
styles of answering.
"""

import lazy_loader

OPTIONS, FIGURES = ("methods", "seeds", "folder"), ("styles", "keep_and_explore", "pass_at_k", "sweeps")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
