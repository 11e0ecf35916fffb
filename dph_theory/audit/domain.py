"""How far an exact match holds: a search for the first log ratio, or size of advantages, beyond it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

from .exact import Loss, LossError, Problem, measure, near_the_reference, random_problem
from .quantities import gradient_of
from .report import Limit, Match

GRID = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.5, 7.0, 10.0, 14.0, 20.0)
"""Sizes of a log ratio, of every token 0 of a problem, that are tried from the least on."""
FARTHEST = GRID[-1]
LARGEST = math.log(100.0)
"""Advantages are multiplied by up to so much, and divided."""
OFF, OFF32 = 1e-6, 1e-3
"""How far a gradient is off, relative to what it should be, where a match holds no more; in float32."""
NEAR = 0.05
"""All log ratios that are not tried stay within it."""
RARE = 0.05
"""The reference's probability of token 0."""
_SHAPES = ((3, 1), (3, 2))
_HALVINGS = 12


@dataclass(frozen=True)
class Searched:
    """A loss, what it was found to descend, and on which samples."""

    loss: Loss
    names: tuple[str, ...]
    samples: str
    match: Match
    tolerance: float
    reach: float
    weights: Callable[[Problem], Tensor | None]

    def off(self, problem: Problem, size: float = 1.0) -> float:
        """How far its gradient is from the match's, with all advantages times `size`; inf if it fails."""

        def scaled(**given: Any) -> Any:
            return self.loss(**{**given, "advantages": size * given["advantages"]})

        loss = self.loss if size == 1 else scaled
        try:
            found = measure(loss, self.names, problem, self.samples, weights=self.weights(problem))
        except LossError:
            return math.inf
        wanted = gradient_of(self.match, problem, self.samples, size)
        whole = float(wanted.norm()) or found.scale
        return float((found.gradient - wanted).norm()) / max(whole, 1e-300)


def limits_of(
    loss: Loss,
    names: tuple[str, ...],
    match: Match,
    samples: str,
    *,
    sequences: bool,
    single: bool,
    reach: float = NEAR,
    weights: Callable[[Problem], Tensor | None] = lambda problem: None,
) -> tuple[Limit, ...]:
    """Where the match, of outcomes or of sequences, holds no more: what was found, from one on outward.

    Log ratios to the reference, and on samples of another policy to that, to +-FARTHEST, of right and of
    wrong answers; advantages from a hundredth to a hundredfold. An end that was not found is infinite (for
    advantages: 0). Nothing for what holds everywhere, or is no exact match; where it does not even hold
    with all log ratios within `reach`, both ends are zero. weights: as of `measure`.
    """
    if not match.exact:
        return ()
    searched = Searched(loss, names, samples, match, OFF32 if single else OFF, reach, weights)
    shape = _SHAPES[sequences]
    if (off := searched.off(_base(shape, reach, right=True))) > searched.tolerance:
        return (
            Limit("log(pi/ref)", 0.0, 0.0, f"with all log ratios within {reach:g} it is {_off_words(off)}"),
        )
    ways = [("log(pi/ref)", "log_ref")] + [("log(pi/old)", "log_old")] * (samples == "old_policy")
    found = [_ratios(searched, what, shape) for what, argument in ways if argument in names]
    if "advantages" in names:
        found.append(_sizes(searched, shape))
    return tuple(limit for limit in found if limit is not None)


def _ratios(searched: Searched, what: str, shape: tuple[int, int]) -> Limit | None:
    """The first log ratios below and above zero beyond which the match holds no more."""
    ends, example, place = {-1: -math.inf, 1: math.inf}, "", ""
    for sign, right in product((1, -1), (True, False) if "advantages" in searched.names else (True,)):

        def moved(size: float, sign: int = sign, right: bool = right) -> Problem:
            return _moved(what, sign * size, shape, searched.reach, right=right)

        def off(size: float, moved: Callable[[float], Problem] = moved) -> float:
            return searched.off(moved(size))

        first = _first(off, GRID, searched.tolerance)
        if first is None or first[0] >= abs(ends[sign]):
            continue
        edge, fails = first
        ends[sign] = sign * edge
        beyond = min(1.25 * edge + 0.05, fails)
        off_by = _off_words(off(beyond))
        example = f"{_whose(searched, right)} at {_size(what, sign * beyond)} is {off_by}"
        place = f"{_token(moved(beyond))}: {off_by}"
    return Limit(what, ends[-1], ends[1], example, place) if example else None


def _sizes(searched: Searched, shape: tuple[int, int]) -> Limit | None:
    """The largest and the least advantages at which the match holds."""
    problem = _base(shape, searched.reach, right=True)
    most = float((problem.valid - (problem.samples(searched.samples) * problem.valid).sum()).abs().max())
    ends, example = {-1: 0.0, 1: math.inf}, ""
    for sign in (1, -1):

        def off(log_size: float, sign: int = sign) -> float:
            return searched.off(problem, math.exp(sign * log_size))

        first = _first(off, [size for size in GRID if size < LARGEST], searched.tolerance)
        if first is not None:
            edge, fails = first
            ends[sign] = most * math.exp(sign * edge)
            example = f"an advantage of {most * math.exp(sign * fails):.3g} is {_off_words(off(fails))}"
    return Limit("|A|", ends[-1], ends[1], example) if example else None


def _first(
    off: Callable[[float], float], sizes: Sequence[float], tolerance: float
) -> tuple[float, float] | None:
    """Where it begins to fail, by halving, and the first of the sizes at which it does; None if at none."""
    holds = 0.0
    for fails in sizes:
        if off(fails) > tolerance:
            low, high = holds, fails
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (low, middle) if off(middle) > tolerance else (middle, high)
            return low, fails
        holds = fails
    return None


@cache
def _base(shape: tuple[int, int], reach: float, *, right: bool) -> Problem:
    """A problem all of whose log ratios are small; `right`: whether answers that begin with token 0 are.

    Token 0 is rare at every prefix, so that what it gains or loses changes little of the others.
    """
    made = random_problem(*shape, torch.Generator().manual_seed(0))
    valid = ((made.token[:, 0] == 0) == right).double()
    near = near_the_reference(replace(made, valid=valid), reach)
    logs = _logs(near)
    rarer = math.log(RARE) - logs["reference"][:, 0]
    return _moved_to(near, {name: log[:, 0] + rarer for name, log in logs.items()})


@cache
def _moved(what: str, x: float, shape: tuple[int, int], reach: float, *, right: bool) -> Problem:
    """The same with this log ratio of token 0 at every prefix.

    For x > 0 the other policy gives the token less, for x < 0 the policy does, and the third one with it.
    """
    base = _base(shape, reach, right=right)
    first = {name: log[:, 0] for name, log in _logs(base).items()}
    other, third = ("reference", "old") if what == "log(pi/ref)" else ("old", "reference")
    if x > 0:
        return _moved_to(base, {other: first["policy"] - x})
    policy = first[other] + x
    return _moved_to(base, {"policy": policy, third: policy + first[third] - first["policy"]})


def _logs(problem: Problem) -> dict[str, Tensor]:
    """The log-probabilities of the next token by policy, (prefixes, vocabulary) each."""
    logits = {"policy": problem.policy, "reference": problem.reference, "old": problem.old}
    return {name: torch.log_softmax(values, -1) for name, values in logits.items()}


def _moved_to(problem: Problem, first: dict[str, Tensor]) -> Problem:
    """The problem with these log-probabilities of token 0, by policy; the others keep their proportions."""
    logs = _logs(problem)
    for name, value in first.items():
        others = torch.log_softmax(logs[name][:, 1:], -1) + torch.log(-torch.expm1(value))[:, None]
        logs[name] = torch.cat([value[:, None], others], dim=-1)
    return replace(problem, policy=logs["policy"], reference=logs["reference"], old=logs["old"])


def _whose(searched: Searched, right: bool) -> str:
    if "advantages" not in searched.names:
        return "a token"
    return f"a {'right' if right else 'wrong'} answer's token"


def _size(what: str, x: float) -> str:
    """A ratio to the old policy as it is clipped, the log of that to the reference."""
    return f"{math.exp(x):.2g}" if what == "log(pi/old)" else f"{what} = {x:.3g}"


def _token(problem: Problem) -> str:
    """The extreme token, such as: at log_pi = -1.2, log_ref = -7.4."""
    names = {"policy": "log_pi", "reference": "log_ref", "old": "log_old"}
    said = ", ".join(f"{names[of]} = {float(log[0, 0]):.3g}" for of, log in _logs(problem).items())
    return f"at {said}"


def _off_words(off: float) -> str:
    if math.isinf(off):
        return "not evaluated: it fails"
    return f"{off:.2%} off" if off < 0.01 else f"{off:.0%} off"
