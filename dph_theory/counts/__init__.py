"""Two checkpoints from counts alone: how often each prompt was answered correctly before and after training.

`read_counts` reads a file, `matched` pairs two, `confront` tells all there is; the parts stand by themselves
in the modules `curves` (Pass@k with simultaneous bands), `kept`, `gain` (log odds), `fits` (which law of
training), `parts`, `spending` (KL against the least KL), `styles` and `power`.
"""

from .pairs import Matched as Matched
from .pairs import Pairs as Pairs
from .pairs import matched as matched
from .reading import Counts as Counts
from .reading import read_counts as read_counts
from .result import Confrontation as Confrontation
from .result import confront as confront
from .words import five_lines as five_lines
