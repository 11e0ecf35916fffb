"""Restricted families: collapsed optima.

Global optima of KL control in model classes that cannot represent the filtered policy, and mass-covering
fits.

Entries: `misspecification`.
"""

import lazy_loader

OPTIONS, FIGURES = ("problem",), ("collapse",)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
