"""Figures: each module computes JSON with seed, config and versions, and draws it.

The public names are listed in `__init__.pyi`, each loaded at first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
