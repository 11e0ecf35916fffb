"""One module a figure: what it computes, as JSON with seed, config and versions, and how it is drawn.

The names are those of `__init__.pyi`, each loaded at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
