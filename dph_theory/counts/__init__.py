"""Two checkpoints from counts alone: how often each prompt was answered correctly before and after training.

`read_counts` reads a file, `matched` pairs two, `confront` tells all there is; its parts stand by themselves
in the modules `pass_at_k` (simultaneous bands, what a change is made of, power), `prompts` (kept, lost, the
shift of the log odds), `law_fits` (which law of training), `luck` (what drift alone loses), `measures`
(Pass^k, Cover@tau, a posterior, categories) and `kl_and_styles`. `cli` is the command `dph confront`.
"""

from .confrontation import Confrontation as Confrontation
from .confrontation import confront as confront
from .confrontation import five_lines as five_lines
from .confrontation import tables as tables
from .pairs import Counts as Counts
from .pairs import Matched as Matched
from .pairs import Pairs as Pairs
from .pairs import matched as matched
from .reading import read_counts as read_counts
