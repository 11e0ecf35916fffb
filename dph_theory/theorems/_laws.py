"""Charts and sides that several statements about stationary policies share."""

from collections.abc import Iterable
from math import comb
from typing import Any

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..divergences import FORWARD_KL
from ..numeric.elementary import Values, only, trailing
from ..verification.charts import chart, example, log_uniform, masks, simplex

EDGED_PAIR = chart(pi=simplex(3, zeros=True), ref=simplex(3, zeros=True))
"""The same, with masses of exactly zero among them."""

PAIRS = (example(pi=".5 .3 .2", ref=".2 .2 .6"), example(pi=".501 .25 .249", ref=".5 .25 .25"))
"""Two distributions far apart, and two nearly equal ones."""


def chosen_law(members: Values, family: Values) -> Values:
    """The chosen member itself, (..., outcomes); the even mixture of them if several are tied."""
    return only(family, members[..., None]).sum(axis=-2) / members.sum(axis=-1)[..., None]


def made_valid(law: Values, valid: Values) -> Values:
    """The distribution with its invalid mass moved to the first, valid outcome: it runs over all on Y1."""
    first = np.arange(law.shape[-1]) == 0
    return only(law, valid) + only(trailing(valid_mass(law, ~valid), 1), first)


FOUR = example(
    policy=".3 .25 .25 .2",
    other=".7 .3 0 0",
    base=".15 .1 .45 .3",
    valid=[True, True, False, False],
    beta=".5",
    time="2",
)
"""Two policies over two correct and two incorrect answers, one over the correct ones, and a penalty or a
time."""

PI_REF = example(pi=".4 .3 .2 .1", ref=".1 .35 .25 .3")
"""A policy and a reference, of four outcomes."""

TREES = chart(
    first=simplex(3, spread=2.0), second=simplex(3, 3, spread=2.0), valid=masks(9), beta=log_uniform(0.1, 10)
)
"""A base over two tokens of three symbols, a verifier of the nine answers, and a beta."""
TWO_TOKENS = example(
    first=".5 .5", second=[".9 .1", ".1 .9"], valid=[[True, False], [True, False]], beta=".5"
)
"""The first first-token ends valid with .9, the second with .1."""

RUNS = chart(base=simplex(4), valid=masks(4), time=log_uniform(1e-2, 1e2), beta=log_uniform(1e-2, 1e2))
"""A base, a verifier, and how long and with which penalty the natural gradient is followed."""
RUN = example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2", beta=".5")


def lost_with_penalty(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    """KL(a || q_t) along the natural gradient of E_q v - beta KL(q || a)."""
    return FORWARD_KL(tilted(base, valid, beta / (1 - np.exp(-beta * time))), base)


def lost_without(base: Values, valid: Values, time: Values) -> Values:
    """KL(a || q_t) along that of the reward alone."""
    return FORWARD_KL(tilted(base, valid, 1 / time), base)


END = 2
"""The symbol that ends a string: after it only itself follows."""


def strings(first: Values, second: Values, third: Values, valid: Values) -> dict[str, Any]:
    """The base's next-token tables, and the rewards of its answers, (batch, 3, 3, 3), none of others."""
    symbols = np.arange(END + 1)
    at_once, later = symbols == END, (symbols[:, None] == END) | (symbols == END)
    tables = [first, _ended(second, at_once), _ended(third, later)]
    after_end = at_once[:, None] & ~at_once
    possible = ~(after_end[:, :, None] | after_end | after_end[:, None, :])
    return {"base": tables, "verdicts": valid.reshape(-1, *possible.shape) & possible}


def _ended(table: Values, ended: Values) -> Values:
    one, zero = 1 + 0 * table, 0 * table
    return np.where(ended[..., None], np.where(np.arange(END + 1) == END, one, zero), table)


STRINGS = chart(
    first=simplex(3, spread=2.0),
    second=simplex(3, 3, spread=2.0),
    third=simplex(3, 3, 3, spread=2.0),
    valid=masks(27),
    beta=log_uniform(0.1, 10),
).deriving(strings)
"""A base over strings of up to three tokens of two symbols and an end, a verifier, and a beta."""
STRING = example(
    first=".5 .4 .1",
    second=[".3 .5 .2", ".6 .2 .2", "1 0 0"],
    third=[[".1 .5 .4", ".7 .1 .2", "1 0 0"], [".4 .4 .2", ".2 .5 .3", "1 0 0"], ["1 0 0"] * 3],
    valid=[(x, y, z).count(0) == 1 for x in range(3) for y in range(3) for z in range(3)],
    beta=".5",
)
"""Strings with the first symbol once are valid."""


def tables(first: Values, second: Values) -> list[Values]:
    """The base's next-token tables."""
    return [first, second]


def verifier(first: Values, valid: Values) -> Values:
    """The nine rewards in the shape of the tree, (batch, symbols, symbols)."""
    symbols = first.shape[-1]
    return valid.reshape(*valid.shape[:1], symbols, symbols)


def flat(answers: Values) -> Values:
    """Probabilities of answers along one last axis."""
    return answers.reshape(len(answers), -1)


def answers_of(law: list[Values]) -> Values:
    """The probabilities of the answers, (batch, symbols^tokens)."""
    answers = law[0]
    for table in law[1:]:
        answers = answers[..., None] * table
    return flat(answers)


def kept(table: Values, alive: Any) -> tuple[Values, Values]:
    """The table on the tokens kept, normalised, and the mass they had; rows without one are left alone."""
    mass = np.where(alive, table, 0.0).sum(axis=-1)
    some = alive.any(axis=-1, keepdims=True)
    mass = np.where(some[..., 0], mass, 1.0)
    return np.where(alive | ~some, table / mass[..., None], 0.0), mass


def local_filter(base: list[Values], verdicts: Values) -> tuple[list[Values], list[Values]]:
    """The locally filtered model's tables, and the masses of the tokens kept at each prefix."""
    found: list[tuple[Values, Values]] = []
    alive = verdicts
    for table in reversed(base):
        found.insert(0, kept(table, alive))
        alive = np.asarray(alive.any(axis=-1))
    return [law for law, _ in found], [mass for _, mass in found]


def entropy(law: Values) -> Values:
    """The Shannon entropy of distributions with full support, over the last axis."""
    return -(law * np.log(law)).sum(axis=-1)


def gains(size: int, like: Values, scale: str) -> list[Values]:
    """A(valid) - A(invalid) when k others of the group are valid, k = 0 .. G-1."""
    one, advantages = 1 + 0 * like, [(0 * like, 0 * like)]
    for k in range(1, size):
        spread = {
            "std": lambda k=k: np.sqrt(one * (k * (size - k)) / (size * (size - 1))),
            "population_std": lambda k=k: np.sqrt(one * (k * (size - k))) / size,
            "mean": lambda k=k: one * k / size,
        }[scale]()
        advantages.append((one * (size - k) / size / spread, -one * k / size / spread))
    advantages.append((0 * like, 0 * like))
    return [advantages[k + 1][0] - advantages[k][1] for k in range(size)]


def expected_weight(size: int, validity: Values, scale: str = "std") -> Values:
    """alpha_G(V): the gains averaged over the others' successes, Binomial(G-1, V)."""
    total = 0 * validity
    for k, gain in enumerate(gains(size, validity, scale)):
        total = total + comb(size - 1, k) * validity**k * (1 - validity) ** (size - 1 - k) * gain
    return total


def expected_weights(sizes: Iterable[int], validity: Values, scale: str = "std") -> Values:
    """The same of groups of several sizes, along a last axis."""
    return np.stack([expected_weight(size, validity, scale) for size in sizes], axis=-1)
