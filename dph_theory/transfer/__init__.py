"""Effect of training on some prompts on all others, since all share one model: the theory of transfer.

`kernel` holds what one backward pass an answer measures at the base (`dph transfer` measures it), `training`
trains its linearised model by any method, `flow` and `interpolation` are the closed forms of the log odds of
a correct answer, and `strategies` those of policies that prompts share exactly. Needs numpy and scipy alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
