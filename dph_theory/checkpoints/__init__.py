"""Two checkpoints from counts alone: how often each prompt was answered correctly before and after training.

`read_counts` reads a file, `compare` compares two, `compare_runs` several runs, or the steps of one
(`read_steps`), with their base. The parts stand by themselves in the modules `pass_at_k` (simultaneous
bands, what a change is made of, power), `prompts` (retained, lost, the log odds), `answers` (which are left),
`policy_fits` (which stationary policy), `measures` (Pass^k, maj@k, categories), `kl` and `data_warnings`
(data that are not what they say); `shapes` of records and logs; `report` has the sentences and tables; `cli`
is `dph compare`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
