"""Collapse of restricted model classes: global optima of KL control, and mass-covering fits.

Entries: `misspecification`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
