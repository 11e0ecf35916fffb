"""How far an exact match holds: a search for the first log ratio, or size of advantages, beyond it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from .called_loss import Audited, LossError
from .log_ratios import first_failure, level_of, penalty_of
from .problem import Problem, near_the_reference, random_problem
from .quantities import gradient_of
from .report import Limit, Match

FARTHEST = 20.0
GRID = tuple(size * (1 - 1e-6) for size in (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.5, 7.0, 10.0, 14.0, FARTHEST))
"""Sizes of a log ratio of token 0 that are tried, in rising order.

They lie just within round numbers: exactly at a clamp's end, rounding decides whether a token has a slope.
"""
SIZES = tuple(size for size in GRID if size < math.log(100))
"""Advantages are multiplied by up to a hundred, and divided."""
OFF, OFF32 = 1e-6, 1e-3
"""How far a gradient is off, relative to what it should be, where a match holds no more; in float32."""
NEAR_REFERENCE = 0.05
"""All log ratios that are not tried stay within it."""
RARE = 0.05
"""The reference's probability of token 0."""
LOGITS = {"log_pi": "policy", "log_ref": "reference", "log_old": "old"}


@dataclass(frozen=True)
class _DomainSearch:
    """A loss, what it was found to descend, and the problems on which that is tried."""

    audited: Audited
    match: Match
    length: int
    reach: float

    def off(self, problem: Problem, size: float = 1.0) -> float:
        """How far its gradient is from the match's, with all advantages times `size`; inf if it fails."""
        scaled = self.audited.with_inputs(advantages=lambda inputs: size * inputs["advantages"])
        try:
            measured = (self.audited if size == 1 else scaled).measure(problem)
        except LossError:
            return math.inf
        expected = gradient_of(self.match, problem, self.audited.samples, size)
        norm = float(expected.norm()) or measured.scale
        return float((measured.gradient - expected).norm()) / max(norm, 1e-300)

    def holds_at(self, at: Callable[[float], Problem], sign: int, size: float) -> bool:
        """True if the match holds where a log ratio is `sign * size`."""
        return self.holds(at(sign * size))

    def holds(self, problem: Problem, size: float = 1.0) -> bool:
        """True if the match holds there."""
        return self.off(problem, size) <= (OFF32 if self.audited.in_float32 else OFF)


def limits_of(
    audited: Audited, match: Match, *, length: int, reach: float = NEAR_REFERENCE
) -> tuple[Limit, ...]:
    """Where the match, on answers of this length, holds no more: what was found, from one on outward.

    Log ratios to the reference, and on samples of another policy to that, to +-FARTHEST, of correct
    and of incorrect answers; advantages from a hundredth to a hundredfold. An end that was not found is
    infinite (for advantages: 0). Nothing for what holds everywhere, or is no exact match; where it does not
    even hold with all log ratios within `reach`, both ends are zero.
    """
    if not match.exact:
        return ()
    search = _DomainSearch(audited, match, length, reach)
    base = _base(length, reach, right=True)
    if not search.holds(base):
        example = f"with all log ratios within {reach:g} it is {_off_words(search.off(base))}"
        return (Limit("log(pi/ref)", 0.0, 0.0, example),)
    tried = ["log_ref"] + (["log_old"] if audited.samples == "old_policy" else [])
    limits = [_ratios(search, name) for name in tried if name in audited.names]
    if "advantages" in audited.names:
        limits.append(_sizes(search))
    return tuple(limit for limit in limits if limit is not None)


def _ratios(search: _DomainSearch, to: str) -> Limit | None:
    """The first log ratios below and above zero beyond which the match holds no more."""
    ends, example, place = {-1: -math.inf, 1: math.inf}, "", ""
    weighed = "advantages" in search.audited.names
    for sign, right in product((1, -1), (True, False) if weighed else (True,)):
        at = partial(_moved, to, length=search.length, reach=search.reach, right=right)
        first = first_failure(partial(search.holds_at, at, sign), GRID)
        if first is None or first[0] >= abs(ends[sign]):
            continue
        ends[sign] = sign * first[0]
        problem = at(x := sign * min(1.25 * first[0] + 0.05, first[1]))
        distance = _off_words(search.off(problem))
        whose = f"{'a correct' if right else 'an incorrect'} answer's token" if weighed else "a token"
        # A ratio to the old policy as it is clipped, the log of that to the reference.
        size = f"pi/old = {math.exp(x):.2g}" if to == "log_old" else f"log(pi/ref) = {x:.3g}"
        logs = ", ".join(f"{name} = {float(log[0, 0]):.3g}" for name, log in _logs(problem).items())
        example, place = f"at {size} the gradient of {whose} is {distance}", f"at {logs}: {distance}"
    if not example:
        return None
    limit = Limit(f"log(pi/{to.removeprefix('log_')})", ends[-1], ends[1], example, place)
    return limit if search.length == 1 else _at_all_lengths(search, to, limit)


def _at_all_lengths(search: _DomainSearch, to: str, limit: Limit) -> Limit:
    """The limit that was found in answers of two tokens, in terms of what it is of in longer ones too."""
    to_old = to == "log_old"
    part = search.audited if to_old else penalty_of(search.audited)
    end = min(limit.low, limit.high, key=abs)
    for level, factor in (("token", 1.0), ("mean", 1.0), ("sum", 2.0)):
        for advantage in (1.0, -1.0) if to_old else (0.0,):
            ratio = limit.what.removeprefix("log(").removesuffix(")")
            if level_of(part, factor * end, advantage=advantage, ratio=ratio) == level:
                low, high = factor * limit.low, factor * limit.high
                example = limit.example.replace("'s token is", " of two tokens is")
                example = limit.example if level == "token" else example
                return replace(limit, low=low, high=high, level=level, example=example)
    return replace(limit, level="")


def _sizes(search: _DomainSearch) -> Limit | None:
    """The largest and the least advantages at which the match holds."""
    problem = _base(search.length, search.reach, right=True)
    chance = (problem.sample_distribution(search.audited.samples) * problem.valid).sum()
    most = float((problem.valid - chance).abs().max())
    ends, example = {-1: 0.0, 1: math.inf}, ""

    def holds(sign: int, log_size: float) -> bool:
        return search.holds(problem, math.exp(sign * log_size))

    for sign in (1, -1):
        if first := first_failure(partial(holds, sign), SIZES):
            ends[sign], size = (most * math.exp(sign * log_size) for log_size in first)
            distance = _off_words(search.off(problem, size / most))
            example = f"at an advantage of {size:.3g} the gradient is {distance}"
    return Limit("|A|", ends[-1], ends[1], example) if example else None


@cache
def _base(length: int, reach: float, *, right: bool) -> Problem:
    """A problem with small log ratios; `right`: whether answers that begin with token 0 are correct."""
    # Token 0 is rare at every prefix, so that what it gains or loses changes little of the others.
    problem = random_problem(3, length, torch.Generator().manual_seed(0))
    near = near_the_reference(replace(problem, valid=((problem.token[:, 0] == 0) == right).double()), reach)
    logs = {name: log[:, 0] for name, log in _logs(near).items()}
    return _moved_to(near, {name: log + math.log(RARE) - logs["log_ref"] for name, log in logs.items()})


@cache
def _moved(to: str, x: float, length: int, reach: float, *, right: bool) -> Problem:
    """The base problem with this log ratio of token 0 at every prefix."""
    base = _base(length, reach, right=right)
    first = {name: log[:, 0] for name, log in _logs(base).items()}
    # For x > 0 the other policy gives the token less, for x < 0 the policy does, and the third one with it.
    if x > 0:
        return _moved_to(base, {to: first["log_pi"] - x})
    policy, third = first[to] + x, "log_old" if to == "log_ref" else "log_ref"
    return _moved_to(base, {"log_pi": policy, third: policy + first[third] - first["log_pi"]})


def _logs(problem: Problem) -> dict[str, Tensor]:
    """The log-probabilities of the next token, (prefixes, vocabulary) each."""
    return {name: torch.log_softmax(getattr(problem, field), -1) for name, field in LOGITS.items()}


def _moved_to(problem: Problem, first: dict[str, Tensor]) -> Problem:
    """The problem with these log-probabilities of token 0; the others keep their proportions."""
    logs = _logs(problem)
    moved: dict[str, Any] = {}
    for name, value in first.items():
        rest = torch.log_softmax(logs[name][:, 1:], -1) + torch.log(-torch.expm1(value))[:, None]
        moved[LOGITS[name]] = torch.cat([value[:, None], rest], dim=-1)
    return replace(problem, **moved)


def _off_words(off: float) -> str:
    if math.isinf(off):
        return "not evaluated: it fails"
    return f"{off:.2%} off" if off < 0.01 else f"{off:.0%} off"
