"""When a run's own first steps give its later ones: one direction, and the trained prompts' clock.

Where one direction couples all prompts, K = a a^T, the log odds of each are their start plus a_j s, and
ds/dt = sum_i a_i (alpha_G(V_i) V_i (1-V_i) - beta times the divergence's force) over the trained ones: base
and one checkpoint give a up to a factor, and so every later rate. With more directions, or Adam's steps, it
approximates (benchmarks/pilot.py). From counts the log odds of small rates are too high on average, so that
falls to them look too small.
"""

from functools import partial

import numpy as np

from ...checkpoints.clock import drive, later_clock
from ...divergences import FORWARD_KL, REVERSE_KL
from ...fdivergence import FDivergence
from ...numeric.elementary import expit, logit
from ...references import Source
from ...stationary.groups import group_weight, success_weights
from ...transfer import LinearisedMethod, coupled_flow
from ...verification.charts import Part, chart, example, integers, rates, uniform
from ...verification.statement import neighbour, theorem

Values = np.ndarray
SOURCE = Source("ours", "the pilot: a run's own first steps")
GROUP, TRAINED, NOW, LATER = 16, np.array([0, 1]), 1.0, 3.0
"""Answers in a group, which of three prompts are trained, the times of the checkpoint and of the forecast."""
STRENGTHS = (0.1, 1.0)
THREE = example(directions=".4 .8 -.3", start="-1 .5 0", beta=".3")


def course(directions: Values, start: Values, beta: float, own: float = 0.0) -> Values:
    """The log odds of a run at the base, the checkpoint and later; `own` couples each prompt to itself."""
    kernel = np.outer(directions, directions) + own * np.eye(len(start))
    flow = coupled_flow(
        kernel, expit(start), TRAINED, [0.0, NOW, LATER],
        scale="std", group_size=GROUP, beta=float(beta), divergence=REVERSE_KL,
    )  # fmt: skip
    return np.asarray(logit(flow))


def changes(directions: Values, start: Values, beta: Values, own: float = 0.0) -> Values:
    """The changes until the checkpoint and until later, (batch, 2, prompts)."""
    parts = zip(directions, start, beta, strict=True)
    courses = np.array([course(a, z, b, own) for a, z, b in parts])
    return courses[:, 1:] - courses[:, :1]


def across(directions: Values, start: Values, beta: Values, own: float = 0.0) -> Values:
    """The other prompts' later changes, times the first one's change until the checkpoint."""
    moved = changes(directions, start, beta, own)
    return moved[:, 1, 1:] * moved[:, 0, :1]


def across_swapped(directions: Values, start: Values, beta: Values, own: float = 0.0) -> Values:
    moved = changes(directions, start, beta, own)
    return moved[:, 0, 1:] * moved[:, 1, :1]


STARTED: dict[str, Part] = {
    "directions": uniform(0.3, 1, 3),
    "start": uniform(-2, 2, 3),
    "beta": uniform(0, 0.5),
}
"""Of the two entries of one direction."""


LINE = theorem(
    "One direction couples all prompts: later changes of log odds are in proportion to the first ones",
    statement=r"K = a a^\top \;\Rightarrow\; \frac{z_j(t)-z_j(0)}{z_i(t)-z_i(0)} = \frac{a_j}{a_i}"
    r" \text{ at every } t,\ \text{with a KL of any } \beta",
    source=SOURCE,
    on=chart(**STARTED),
    equal=(across, across_swapped),
    examples=(THREE,),
    tolerance=1e-6,
    floor=1e-2,
    share=0.0005,
    false=(
        neighbour(
            "also where each prompt moves by a direction of its own beside",
            at=THREE,
            lhs=partial(across, own=0.5),
            rhs=partial(across_swapped, own=0.5),
        ),
    ),
)


def later(directions: Values, start: Values, beta: Values) -> Values:
    parts = zip(directions, start, beta, strict=True)
    return np.array([course(a, z, b)[2] for a, z, b in parts])


def by_pilot(directions: Values, start: Values, beta: Values, form: str = "changes") -> Values:
    """The later log odds from base and checkpoint alone, by a clock of that form."""
    return np.array([one_by_pilot(*parts, form=form) for parts in zip(directions, start, beta, strict=True)])


def one_by_pilot(directions: Values, start: Values, beta: float, form: str) -> Values:
    before, now, _ = course(directions, start, beta)
    moved, method = now - before, LinearisedMethod("std", GROUP, float(beta), REVERSE_KL)
    if form == "steps":
        return np.asarray(before + LATER / NOW * moved)
    weights = moved[TRAINED] if form == "changes" else np.ones(len(TRAINED))
    clock = later_clock(before[TRAINED], moved[TRAINED], weights, LATER / NOW, method)
    return np.asarray(before + clock * moved)


CLOCK = theorem(
    "One direction: base and one checkpoint give every later rate, by the trained prompts' clock",
    statement=r"K = a a^\top,\ \Delta = z(t_1)-z(0) \;\Rightarrow\; z(t) = z(0) + s\,\Delta,\quad"
    r" \dot s \propto \sum_{i \in T} \Delta_i V_i(1-V_i)\bigl(\alpha_G(V_i) - \beta s \Delta_i\bigr),"
    r"\ s(t_1) = 1",
    source=SOURCE,
    on=chart(**STARTED),
    equal=(later, by_pilot),
    examples=(THREE,),
    tolerance=1e-5,
    floor=1e-1,
    share=0.0003,
    note="Where the trained prompts move alike the mean of their drives serves, which counts disturb less.",
    false=(
        neighbour(
            "every trained prompt's drive weighs the same", at=THREE, rhs=partial(by_pilot, form="equal")
        ),
        neighbour("in proportion to the steps", at=THREE, rhs=partial(by_pilot, form="steps")),
    ),
)


def drives(start: Values, now: Values, divergence: FDivergence = REVERSE_KL) -> Values:
    """At several strengths of the KL, (batch, strengths)."""
    methods = [LinearisedMethod("std", GROUP, beta, divergence) for beta in STRENGTHS]
    return np.stack([drive(now, start, method) for method in methods], axis=-1)


def drives_less_changes(start: Values, now: Values) -> Values:
    rate, change = expit(now)[:, None], (now - start)[:, None]
    return np.asarray(rate * (1 - rate) * (group_weight(GROUP, rate) - np.array(STRENGTHS) * change))


SLOWED = theorem(
    "A reverse KL takes beta times the change of a prompt's log odds off what drives the clock",
    statement=r"V(1-V)\Bigl(\alpha_G(V) - \beta\,\bigl(f'(\tfrac{V}{V_0}) -"
    r" f'(\tfrac{1-V}{1-V_0})\bigr)\Bigr) = V(1-V)\bigl(\alpha_G(V) - \beta\,(z - z_0)\bigr)",
    source=SOURCE,
    on=chart(start=uniform(-4, 4), now=uniform(-4, 4)),
    equal=(drives, drives_less_changes),
    examples=(example(start="-1", now=".5"),),
    share=0.1,
    note="The clock of one direction stands still where the drives add up to zero; one prompt's where"
    " alpha_G(V) = beta (z - z_0).",
    false=(
        neighbour(
            "a forward KL too", at=example(start="-1", now=".5"), lhs=partial(drives, divergence=FORWARD_KL)
        ),
    ),
)


def mean_log_odds(rate: Values, answers: Values, added: float = 0.5) -> Values:
    """The mean over counts c of n answers of log (c + 1/2) - log (n - c + 1/2)."""
    means = []
    for value, n in zip(rate, answers, strict=True):
        c = np.arange(int(n) + 1)
        means.append(success_weights(int(n), np.asarray(value)) @ (np.log(c + added) - np.log(n - c + added)))
    return np.array(means)


SMALL = theorem(
    "Half an answer added to either side: log odds of rates below 1/(2n) are too high on average",
    statement=r"V = \frac{r}{2n},\ r \le 1 \;\Rightarrow\;"
    r" \mathrm{logit}\,V \le E \log\frac{c+1/2}{n-c+1/2},\quad c \sim \mathrm{Bin}(n, V)",
    source=SOURCE,
    on=chart(part=rates(low=1e-6, high=1e-3), answers=integers(2, 64)),
    at_most=(
        lambda part, answers: logit(part / (2 * answers)),
        lambda part, answers: mean_log_odds(part / (2 * answers), answers),
    ),
    examples=(example(part=".1", answers="64"),),
    share=0.02,
    note="A prompt that falls to such a rate looks as if it had fallen less; the spread of rates fitted to"
    " all prompts has no such floor.",
    false=(
        neighbour(
            "of rates of one in four too, by a tenth",
            at=example(part=".1", answers="64"),
            lhs=lambda part, answers: mean_log_odds(np.full(len(part), 0.25), answers) + 0.1,
            rhs=lambda part, answers: np.full(len(part), np.log(1 / 3)),
        ),
    ),
)
