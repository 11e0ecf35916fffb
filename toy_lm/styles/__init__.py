"""A tiny transformer trained for real: five styles, binary rewards, and which losses keep the styles."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
