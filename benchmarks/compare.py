"""Seconds and memory of `dph compare` on 10^5 prompts with 10^3 answers each, and of its band the naive way.

The naive way is that of the package passk-inference, a curve of its own for each prompt; of 2000 prompts,
since its time and memory grow in proportion to them.

Run: python benchmarks/compare.py [PROMPTS ANSWERS]
"""

import json
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import expit, logit
from stored import store

from dph_theory.checkpoints import PairedCounts, compare, matched, read_counts, sentences
from dph_theory.checkpoints.pass_at_k import pass_curves

MOST_SECONDS, MOST_GIGABYTES = 60.0, 1.0
"""What it may take on one core."""
NAIVE = 2000


def write(folder: Path, prompts: int, answers: int) -> list[Path]:
    """Counts of a base and of a run whose shifts of the log odds vary, a tenth of the prompts being lost."""
    rng = np.random.default_rng(0)
    before = rng.beta(0.3, 0.5, prompts)
    after = expit(logit(before) + 1 + rng.standard_normal(prompts)) * (rng.random(prompts) > 0.1)
    paths = [folder / "base.jsonl", folder / "run.jsonl"]
    for path, rate in zip(paths, (before, after), strict=True):
        counts = rng.binomial(answers, rate).tolist()
        rows = (json.dumps({"id": i, "n": answers, "c": c}) for i, c in enumerate(counts))
        path.write_text("\n".join(rows) + "\n")
    return paths


def bands(pairs: PairedCounts) -> tuple[float, float]:
    """Seconds of one core that the bands of so few prompts take, the naive way and ours."""
    import passk_inference

    start = time.process_time()
    passk_inference.compare(pairs.base_c, pairs.base_n, pairs.run_c, pairs.run_n, bootstrap=4000, seed=0)
    middle = time.process_time()
    pass_curves(pairs, draws=4000)
    return middle - start, time.process_time() - middle


def main(prompts: int = 10**5, answers: int = 10**3) -> int:
    """Time reading and comparing; exits 1 above the limits."""
    with TemporaryDirectory() as folder:
        paths = write(Path(folder), prompts, answers)
        start = time.process_time()
        base, run = map(read_counts, paths)
        both = matched(base, run)
        read = time.process_time() - start
        comparison = compare(base, run)
    seconds = time.process_time() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(*sentences(comparison), sep="\n")
    print(f"reading {read:.1f} s, all {seconds:.1f} s of one core, {gigabytes:.2f} GB")
    naive, ours = bands(both.counts.chosen(np.arange(min(prompts, NAIVE))))
    print(f"the band of {min(prompts, NAIVE)} prompts alone: naive {naive:.1f} s, ours {ours:.1f} s")
    if (prompts, answers) == (10**5, 10**3):
        numbers = {"prompts": prompts, "answers": answers, "seconds": seconds, "gigabytes": gigabytes}
        numbers |= {"naive_band_2000": naive, "band_2000": ours}
        store("compare", **{name: round(value, 2) for name, value in numbers.items()})
    return int(seconds > MOST_SECONDS or gigabytes > MOST_GIGABYTES)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
