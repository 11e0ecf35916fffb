"""Pass@1 up, pass@k down: strategies shared by prompt types, trained by exact gradients.

Entries: `falling_pass_at_k`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
