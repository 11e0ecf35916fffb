"""Do a few prompts anchored to the base retain the others, and does the choice of prompts matter?

Not covered: anchors of another kind than the trained prompts; more than sixteen anchors; coefficients above
1; the cost of storing the base's answers. There are two seeds of the wide products, five of the rest.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..claims import ABOVE, BELOW, NEAR, Claim
from .claims import Ends, Value, common_pass_at, middle_heights
from .open_prompts import STORED, open_prompts
from .runs import ALONE, BY_KERNEL, EXPLORED, HELD_OUT, PICKED, RANDOM, UNTRAINED, OpenRun, Policy, pass_at

SEEDS = 5
DIGITS, SUMS, PRODUCTS, WIDE = (EXPLORED,), ("sums",), ("products",), ("wide last digits",)


def setting(tasks: tuple[str, ...], method: str = "GRPO", **fields: Any) -> OpenRun:
    """Run without anchors on these tasks, without a seed, for comparison with runs that have anchors."""
    return OpenRun("anchors", tasks, method, **fields)


def anchored(
    tasks: tuple[str, ...], anchors: int = 4, picked: str = RANDOM, coefficient: float = 1.0, **fields: Any
) -> OpenRun:
    """GRPO run, without a seed, with a KL to the base on `anchors` held-out prompts chosen by `picked`."""
    return setting(tasks, coefficient=coefficient, anchors=anchors, picked=picked, **fields)


_k3 = partial(setting, kl="k3")


def _few(tasks: tuple[str, ...], anchors: int) -> list[OpenRun]:
    """Runs with that many anchors of each choice, a weaker coefficient, and k3 on all trained prompts."""
    choices = [anchored(tasks, anchors, picked) for picked in PICKED]
    return [*choices, anchored(tasks, anchors, coefficient=0.3), _k3(tasks, coefficient=1.0)]


def declared() -> list[OpenRun]:
    """Runs with a KL on a few held-out prompts, and runs with one on all, none, or the solved prompts."""
    settings = [
        setting(DIGITS), *_few(DIGITS, 4), _k3(DIGITS, coefficient=0.3),
        _k3(DIGITS, coefficient=0.1), anchored(DIGITS, coefficient=0.1),
        anchored(DIGITS, picked=BY_KERNEL, coefficient=0.3),
        anchored(DIGITS, 2), anchored(DIGITS, 8), anchored(DIGITS, answers=STORED),
    ]  # fmt: skip
    for tasks, anchors in ((SUMS, 2), (PRODUCTS, 4)):
        rehearsals = (setting(tasks, "DPH-F", coefficient=0.5), setting(tasks, "DPH-JS", coefficient=10.0))
        settings += [*_few(tasks, anchors), *rehearsals]
    settings += [_k3(WIDE, coefficient=0.3), *_few(WIDE, 4), anchored(WIDE, 16)]
    return [replace(run, seed=seed) for run in settings for seed in range(2 if run.tasks == WIDE else SEEDS)]


def by_lot(run: OpenRun) -> tuple[int, ...]:
    """Indices of the first task's held-out texts that a run anchors at random; () for other choices."""
    if not run.anchors or run.picked != RANDOM:
        return ()
    texts = len(open_prompts(run.tasks[0] + HELD_OUT).texts)
    return tuple(sorted(np.random.default_rng(run.seed).choice(texts, run.anchors, replace=False).tolist()))


def _difference(k: int, run: OpenRun, other: OpenRun) -> Value:
    """Function of (ends, base): held-out Pass@k of `run` minus that of `other`, on texts neither anchors."""
    task = run.tasks[0] + HELD_OUT
    return lambda ends, base: float(np.subtract(*common_pass_at(ends[run], ends[other], task, k)))


def _anchors_less_k3(ends: Ends, base: Policy) -> float:
    """Held-out Pass@256 with a KL on four random prompts minus that of k3 on all, at equal trained Pass@1."""
    strengths = (0.1, 0.3, 1.0)
    with_anchors = [anchored(DIGITS, coefficient=strength) for strength in strengths]
    curves = []
    for runs in (with_anchors, [_k3(DIGITS, coefficient=strength) for strength in strengths]):
        policies = [ends[run] for run in (setting(DIGITS), *runs)]
        free = ends[with_anchors[0]]
        curves.append([(pass_at(p, DIGITS, 1), common_pass_at(p, free, UNTRAINED, 256)[0]) for p in policies])
    _, of_anchors, of_k3 = middle_heights(*curves)
    return of_anchors - of_k3


CLAIMS = (
    Claim("anchors_as_k3", "between_prompts",
          "at equal trained Pass@1 four anchors at random retain as much of Pass@256 as k3 on all, "
          "within .05", "the kernel has few directions, so that a few prompts hold all others: more",
          _anchors_less_k3, NEAR),
    Claim("by_kernel", "between_prompts",
          "anchors picked by the kernel retain more of Pass@256 than as many at random",
          "as much: the kernel's directions are held by any four",
          _difference(256, anchored(DIGITS, picked=BY_KERNEL), anchored(DIGITS)), ABOVE),
    Claim("least_coupled", "between_prompts",
          "the four least coupled retain less of Pass@256 than four at random",
          "as much", _difference(256, anchored(DIGITS, picked=ALONE), anchored(DIGITS)), BELOW),
    Claim("eight", "between_prompts", "eight anchors retain more of Pass@256 than two", "two are enough",
          _difference(256, anchored(DIGITS, 8), anchored(DIGITS, 2)), ABOVE),
    Claim("stored_answers", "between_prompts",
          "64 stored answers of each anchor retain as much as its exact probabilities, within .05",
          "about half, as first runs had it",
          _difference(256, anchored(DIGITS, answers=STORED), anchored(DIGITS)), NEAR),
    Claim("products_cost", "between_prompts",
          "products, whose Pass@256 does not fall without a KL: four anchors cost held-out Pass@1",
          "they cost nothing", _difference(1, anchored(PRODUCTS), OpenRun("transfer", PRODUCTS, "GRPO")),
          BELOW),
    Claim("products_rehearsed", "between_prompts",
          "products: DPH-F at .5 on the solved prompts costs less held-out Pass@1 than four anchors",
          "as much, or more", _difference(1, setting(PRODUCTS, "DPH-F", coefficient=0.5), anchored(PRODUCTS)),
          ABOVE),
    Claim("sixteen", "between_prompts",
          "116 trained prompts: sixteen anchors retain more of Pass@256 than four",
          "four are enough, as of 24", _difference(256, anchored(WIDE, 16), anchored(WIDE)), ABOVE),
)  # fmt: skip  # Claims about anchors, each over the seeds.
