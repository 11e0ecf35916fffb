"""Two checkpoints from counts alone: how often each prompt was answered correctly before and after training.

`read_counts` reads a file, `confront` compares two, `together` several runs, or the steps
of one (`read_steps`), with their base. The parts stand by themselves in the modules `pass_at_k` (simultaneous
bands, what a change is made of, power), `prompts` (retained, lost, the log odds), `answers` (which are left),
`law_fits` (which stationary policy), `measures` (Pass^k, maj@k, categories), `kl` and `doubts` (data that are
not what they say); `logs` of answers; `words` has the sentences and tables; `cli` is `dph confront`.
"""

from .confrontation import Confrontation as Confrontation
from .confrontation import confront as confront
from .pairs import Counts as Counts
from .pairs import Matched as Matched
from .pairs import Pairs as Pairs
from .pairs import matched as matched
from .reading import read_counts as read_counts
from .reading import read_steps as read_steps
from .together import Together as Together
from .together import together as together
from .words import sentences as sentences
from .words import tables as tables
