"""Two checkpoints from counts alone: how often each prompt was answered correctly before and after training.

`read_counts` reads a file, `confront` compares two, `compare_runs` several runs, or the steps of one
(`read_steps`), with their base. The parts stand by themselves in the modules `pass_at_k` (simultaneous
bands, what a change is made of, power), `prompts` (retained, lost, the log odds), `answers` (which are left),
`policy_fits` (which stationary policy), `measures` (Pass^k, maj@k, categories), `kl` and `data_warnings`
(data that are not what they say); `logs` of answers; `report` has the sentences and tables; `cli` is `dph
confront`.
"""

from .confrontation import Confrontation as Confrontation
from .confrontation import confront as confront
from .counts import Counts as Counts
from .counts import MatchedRows as MatchedRows
from .counts import PairedCounts as PairedCounts
from .counts import matched as matched
from .pilot import PilotForecast as PilotForecast
from .pilot import pilot_forecast as pilot_forecast
from .reading import read_counts as read_counts
from .reading import read_steps as read_steps
from .report import sentences as sentences
from .several_runs import RunComparison as RunComparison
from .several_runs import compare_runs as compare_runs
