"""Where does an advantage's divisor decide what is retained, and does a weight from counts retain more?

Beside the runs of `advantages`: other groups, KLs and tasks, another model, a rate that people use, and
advantages weighed by V^-1, V from counts of the base that each group moves on. Runs are compared at equal
trained Pass@1 (`advantages`). Left out: sampled answers of many tokens, larger groups. Entries `retention`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from .advantages import MEAN, STD, UNDIVIDED, above_a_guess, difference, setting
from .anchors import DIGITS, PRODUCTS, SUMS
from .claims import ABOVE, BELOW, NEAR, Claim, Value
from .runs import MIXTURE, RANDOM, OpenRun

TWO_LAST = ("last two digits",)
"""A hundred answers, of which a guess has one in a hundred."""
FIRST: Mapping[str, float] = {"of two digits": 0.25, "of gemma": 0.4, "of products": 0.7, "of sums": 0.6}
"""Trained Pass@1 at which runs are compared, where it is not .45."""


def _setting(method: str, tasks: tuple[str, ...] = DIGITS, **fields: Any) -> OpenRun:
    return replace(setting(method, tasks, **fields), experiment="retention")


_counted = partial(_setting, UNDIVIDED, steps=40, power=1.0, rates="counted")
_half = partial(_counted, steps=24, power=0.5)
_before = partial(_counted, rates="counted before")
_exact = partial(_counted, rates="exact")
_two_counted = partial(_counted, tasks=TWO_LAST, steps=60)
_gemma_counted = partial(_counted, model="gemma3", learning_rate=2e-6)
_two = partial(_setting, tasks=TWO_LAST, steps=40)
_gemma = partial(_setting, model="gemma3", learning_rate=2e-6)
_products = partial(_setting, tasks=PRODUCTS, learning_rate=2e-6)
_sums = partial(_setting, tasks=SUMS, learning_rate=2e-6)
_slow = partial(_setting, learning_rate=1e-6, steps=100)
_anchored = partial(_setting, coefficient=1.0, anchors=4, picked=RANDOM)
_small, _large = partial(_setting, group=4), partial(_setting, group=64)
_k2 = partial(_setting, kl="k2", coefficient=0.3)


def _rehearsed(method: str) -> OpenRun:
    return _setting(method, MIXTURE, coefficient=0.5)


BY_STD, BY_MEAN = "DPH-F by the std", "DPH-F by the mean"


def declared() -> list[OpenRun]:
    """Three seeds of what decides, two of the rest; seeds outermost, so that what is cut short is even."""
    three = [
        _rehearsed(BY_MEAN), _rehearsed(BY_STD), _gemma(MEAN), _half(), _gemma(STD),
        *(group(method) for group in (_small, _large) for method in (MEAN, STD)),
        _gemma(UNDIVIDED), _counted(), *(_sums(method) for method in (MEAN, STD, UNDIVIDED)),
    ]  # fmt: skip
    two = [
        _two(MEAN), _two(STD), _two(MEAN, group=64), *(_anchored(method) for method in (MEAN, STD)),
        *(_products(method) for method in (MEAN, STD, UNDIVIDED)), *(_k2(method) for method in (MEAN, STD)),
        _exact(),
    ]  # fmt: skip
    one = [_before(), _two_counted(), _gemma_counted(), *(_slow(method) for method in (MEAN, STD, UNDIVIDED))]
    seeds = {0: [*three, *two, *one], 1: [*three, *two], 2: three}
    return [replace(run, seed=seed) for seed, runs in seeds.items() for run in runs]


def _more(run: OpenRun, other: OpenRun, first: str = "") -> Value:
    """How much more of held-out Pass@256 one setting retains than another."""
    return difference(run, other, 256, **({"first": FIRST[first]} if first else {}))


def _gain_of_groups(courses: Any, base: Any) -> float:
    """MaxRL's advantage over GRPO in groups of 64, less that in groups of 4."""
    large, small = (_more(group(MEAN), group(STD)) for group in (_large, _small))
    return large(courses, base) - small(courses, base)


_claim = partial(Claim, of_courses=True)
CLAIMS = (
    _claim("counts_above_mean", "O1",
           "weighed by 1/V, V from counts of the base, of earlier groups and its own, groups of 16 retain "
           "more of held-out Pass@256 than MaxRL",
           "a group's own mean is as good: rare prompts teach too seldom",
           difference(_counted(), setting(MEAN), 256), ABOVE),
    _claim("counts_cost_nothing", "O1", "and its held-out Pass@1 is MaxRL's, within .05",
           "large weights on few answers are noise, and cost",
           difference(_counted(), setting(MEAN), 1), NEAR),
    _claim("counts_as_exact", "O1", "and it retains as much as 1/V of the policy's own V, within .05",
           "counts lag behind the policy, and retain less", _more(_counted(), _exact()), NEAR),
    _claim("half_above_mean", "O1",
           "weighed by V^-1/2, V from such counts, groups of 16 retain more of held-out Pass@256 than MaxRL",
           "as much: the power decides, not whence V is known",
           difference(_half(), setting(MEAN), 256), ABOVE),
    _claim("larger_groups_mean", "O2", "MaxRL in groups of 64 retains more than in groups of 4",
           "the size of a group is noise alone", _more(_large(MEAN), _small(MEAN)), ABOVE),
    _claim("larger_groups_std", "O2", "GRPO in groups of 64 retains more than in groups of 4, as sqrt(G)/2",
           "the size of a group is noise alone", _more(_large(STD), _small(STD)), ABOVE),
    _claim("groups_part_them", "O2", "what MaxRL retains more than GRPO grows from groups of 4 to 64",
           "it is one number", _gain_of_groups, ABOVE),
    _claim("beside_rehearsal", "O1",
           "beside DPH-F at .5 on solved prompts the mean retains more of what is explored than the std",
           "a mass-covering divergence makes the divisor unimportant",
           _more(_rehearsed(BY_MEAN), _rehearsed(BY_STD)), ABOVE),
    _claim("beside_anchors", "O1", "beside four anchors at 1 MaxRL retains more than GRPO",
           "anchors make the divisor unimportant", _more(_anchored(MEAN), _anchored(STD)), ABOVE),
    _claim("beside_k2", "O3", "beside k2 at .3 MaxRL retains more than GRPO",
           "the full reverse KL makes the divisor unimportant", _more(_k2(MEAN), _k2(STD)), ABOVE),
    _claim("gemma_mean", "O1", "Gemma-3-270M at a trained Pass@1 of .40: MaxRL retains more than GRPO",
           "another model, another order", _more(_gemma(MEAN), _gemma(STD), "of gemma"), ABOVE),
    _claim("gemma_std", "O1", "Gemma-3-270M: GRPO retains more than Dr. GRPO",
           "dividing by the std changes the speed alone",
           _more(_gemma(STD), _gemma(UNDIVIDED), "of gemma"), ABOVE),
    _claim("gemma_counts", "O1",
           "Gemma-3-270M: 1/V from counts retains as much as MaxRL, within .05, or more", "noise undoes it",
           _more(_gemma_counted(), _gemma(MEAN), "of gemma"), (-0.05, 1.0)),
    _claim("two_digits_groups", "O2",
           "a hundred answers, most pass rates below 1/16: MaxRL in groups of 64 retains more than of 16",
           "the divisor decides, not the group", _more(_two(MEAN, group=64), _two(MEAN), "of two digits"),
           ABOVE),
    _claim("two_digits_counts", "O1", "and 1/V from counts in groups of 16 more than MaxRL in groups of 16",
           "a success that comes once in a hundred groups teaches nothing",
           _more(_two_counted(), _two(MEAN), "of two digits"), ABOVE),
    _claim("two_digits_no_guess", "O1",
           "and its held-out Pass@1 is above that of GRPO mixed with a guess to the same Pass@16",
           "its coverage is a guess",
           above_a_guess(_two_counted(), _two(STD), first=0.25, guess=0.01),
           ABOVE),
    _claim("products_alike", "O1",
           "products, of which one rule solves all: the divisor makes no difference, within .05",
           "MaxRL retains more everywhere", _more(_products(MEAN), _products(STD), "of products"), NEAR),
    _claim("sums_alike", "O1", "sums: no difference, within .05", "MaxRL retains more everywhere",
           _more(_sums(MEAN), _sums(STD), "of sums"), NEAR),
    _claim("undivided_slow", "O1",
           "at a rate of 1e-6 too, a hundred steps: MaxRL retains more than Dr. GRPO",
           "at small rates nothing is lost", _more(_slow(MEAN), _slow(UNDIVIDED)), ABOVE),
    _claim("exact_late", "O1",
           "weighed by the exact 1/V less is retained at a trained Pass@1 of .75 than at .45",
           "it retains for good", difference(_exact(), _exact(), 256, later=0.75), BELOW),
)  # fmt: skip
"""Of the retention, each over the seeds."""
