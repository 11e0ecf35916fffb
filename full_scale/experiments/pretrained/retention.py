"""When does an advantage's divisor decide retention, and does a weight from counts retain more?

In addition to `advantages`: other groups, KLs and tasks, another model, and advantages weighed by V^-1, with
V from counts of the base that each group updates. Runs are compared at equal trained Pass@1 (`advantages`).
The way of counting V was fixed after one run that excluded the own group ("counted before") and hardly
learned: predictions about counts precede all other runs. Not covered: sampled answers of many tokens, larger
groups, other rates. Entries `retention`.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from ..claims import ABOVE, BELOW, NEAR, Claim
from .advantages import MEAN, STD, UNDIVIDED, difference, setting
from .anchors import DIGITS, PRODUCTS, SUMS
from .runs import MIXTURE, RANDOM, OpenRun

TWO_LAST = ("last two digits",)  # A hundred answers, of which a guess finds one percent.


def _setting(method: str, tasks: tuple[str, ...] = DIGITS, **fields: Any) -> OpenRun:
    return replace(setting(method, tasks, **fields), experiment="retention")


_counted = partial(_setting, UNDIVIDED, steps=40, power=1.0, rates="counted")
_half = partial(_counted, steps=24, power=0.5)
_before = partial(_counted, rates="counted before")
_exact = partial(_counted, rates="exact")
_two = partial(_setting, tasks=TWO_LAST, steps=40)
_gemma = partial(_setting, model="gemma3", learning_rate=2e-6)
_products = partial(_setting, tasks=PRODUCTS, learning_rate=2e-6)
_sums = partial(_setting, tasks=SUMS, learning_rate=2e-6)
_anchored = partial(_setting, coefficient=1.0, anchors=4, picked=RANDOM)
_small, _large = partial(_setting, group=4), partial(_setting, group=64)
_k2 = partial(_setting, kl="k2", coefficient=0.3)


def _rehearsed(method: str) -> OpenRun:
    return _setting(method, MIXTURE, coefficient=0.5)


BY_STD, BY_MEAN = "DPH-F by the std", "DPH-F by the mean"


def declared() -> list[OpenRun]:
    """Three seeds of the decisive settings, one or two of the rest; seeds outermost."""
    three = [
        _rehearsed(BY_MEAN), _rehearsed(BY_STD), _counted(),
        *(group(method) for group in (_small, _large) for method in (MEAN, STD)),
        *(_gemma(method) for method in (MEAN, STD, UNDIVIDED)),
    ]  # fmt: skip
    two = [
        *(kind(method) for kind in (_anchored, _k2, _products, _sums) for method in (MEAN, STD)),
        _sums(UNDIVIDED), _half(), _exact(),
    ]  # fmt: skip
    one = [_two(MEAN), _two(STD), _two(MEAN, group=64), _before()]
    seeds = {0: [*three, *two, *one], 1: [*three, *two], 2: three}
    return [replace(run, seed=seed) for seed, runs in seeds.items() for run in runs]


def _gain_of_groups(courses: Any, base: Any) -> float:
    """MaxRL's advantage over GRPO in groups of 64, minus that in groups of 4."""
    large, small = (difference(group(MEAN), group(STD)) for group in (_large, _small))
    return large(courses, base) - small(courses, base)


_claim = partial(Claim, of_courses=True)
CLAIMS = (
    _claim("counts_above_mean", "retention",
           "weighed by 1/V, V from counts of the base, of earlier groups and its own, groups of 16 retain "
           "more of held-out Pass@256 than MaxRL",
           "a group's own mean is as good: rare prompts teach too seldom",
           difference(_counted(), setting(MEAN)), ABOVE),
    _claim("counts_cost_nothing", "retention", "and its held-out Pass@1 is MaxRL's, within .05",
           "large weights on few answers are noise, and cost",
           difference(_counted(), setting(MEAN), 1), NEAR),
    _claim("counts_as_exact", "retention", "and it retains as much as 1/V of the policy's own V, within .05",
           "counts lag behind the policy, and retain less", difference(_counted(), _exact()), NEAR),
    _claim("half_above_mean", "retention",
           "weighed by V^-1/2, V from such counts, groups of 16 retain more of held-out Pass@256 than MaxRL",
           "as much: the power decides, not whence V is known",
           difference(_half(), setting(MEAN)), ABOVE),
    _claim("larger_groups_mean", "retention", "MaxRL in groups of 64 retains more than in groups of 4",
           "the size of a group is noise alone", difference(_large(MEAN), _small(MEAN)), ABOVE),
    _claim("larger_groups_std", "retention",
          "GRPO in groups of 64 retains more than in groups of 4, as sqrt(G)/2",
           "the size of a group is noise alone", difference(_large(STD), _small(STD)), ABOVE),
    _claim("groups_part_them", "retention", "what MaxRL retains more than GRPO grows from groups of 4 to 64",
           "it is one number", _gain_of_groups, ABOVE),
    _claim("beside_rehearsal", "retention",
           "beside DPH-F at .5 on solved prompts the mean retains more of what is explored than the std",
           "a mass-covering divergence makes the divisor unimportant",
           difference(_rehearsed(BY_MEAN), _rehearsed(BY_STD)), ABOVE),
    _claim("beside_anchors", "retention", "beside four anchors at 1 MaxRL retains more than GRPO",
           "anchors make the divisor unimportant", difference(_anchored(MEAN), _anchored(STD)), ABOVE),
    _claim("beside_k2", "strategies", "beside k2 at .3 MaxRL retains more than GRPO",
           "the full reverse KL makes the divisor unimportant", difference(_k2(MEAN), _k2(STD)), ABOVE),
    _claim("gemma_mean", "retention", "Gemma-3-270M at a trained Pass@1 of .40: MaxRL retains more than GRPO",
           "another model, another order", difference(_gemma(MEAN), _gemma(STD)), ABOVE),
    _claim("gemma_std", "retention", "Gemma-3-270M: GRPO retains more than Dr. GRPO",
           "dividing by the std changes the speed alone",
           difference(_gemma(STD), _gemma(UNDIVIDED)), ABOVE),
    _claim("two_digits_groups", "retention",
           "a hundred answers, most pass rates below 1/16: MaxRL in groups of 64 retains more than of 16",
           "the divisor decides, not the group", difference(_two(MEAN, group=64), _two(MEAN)),
           ABOVE),
    _claim("products_alike", "retention",
           "products, of which one rule solves all: the divisor makes no difference, within .05",
           "MaxRL retains more everywhere", difference(_products(MEAN), _products(STD)), NEAR),
    _claim("sums_alike", "retention", "sums: no difference, within .05", "MaxRL retains more everywhere",
           difference(_sums(MEAN), _sums(STD)), NEAR),
    _claim("exact_late", "retention",
           "weighed by the exact 1/V less is retained at a trained Pass@1 of .75 than at .45",
           "it retains for good", difference(_exact(), _exact(), later=0.75), BELOW),
)  # fmt: skip  # Claims about retention, each over the seeds.
