"""Range of log ratios and advantages in which an exact match holds: a search for the first failure."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from .called_loss import Audited, LossError
from .log_ratios import first_failure
from .problem import Problem, near_the_reference, random_problem
from .quantities import gradient_of
from .report import Limit, Match

FARTHEST = 20.0
GRID = tuple(size * (1 - 1e-6) for size in (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.5, 7.0, 10.0, 14.0, FARTHEST))
"""Log ratios of token 0 that are tried, in rising order.

They lie just within round numbers: exactly at a clamp's end, rounding decides whether a token has a slope.
"""
SIZES = tuple(size for size in GRID if size < math.log(100))
"""Logarithms of the factors, up to a hundred, by which advantages are multiplied and divided."""
OFF, OFF32 = 1e-6, 1e-3
"""Relative error of a gradient from which a match fails, in float64 and in float32."""
NEAR_REFERENCE = 0.05
"""Bound on all log ratios that are not tried."""
RARE = 0.05
"""Probability of token 0 under the reference."""
LOGITS = {"log_pi": "policy", "log_ref": "reference", "log_old": "old"}


@dataclass(frozen=True)
class _DomainSearch:
    """A loss, its matched gradient, and the problems on which the match is tried."""

    audited: Audited
    match: Match
    length: int
    reach: float

    def off(self, problem: Problem, size: float = 1.0) -> float:
        """Relative error of the matched gradient with advantages times `size`; inf if the loss fails."""
        scaled = self.audited.with_inputs(advantages=lambda inputs: size * inputs["advantages"])
        try:
            measured = (self.audited if size == 1 else scaled).measure(problem)
        except LossError:
            return math.inf
        expected = gradient_of(self.match, problem, self.audited.samples, size)
        norm = float(expected.norm()) or measured.scale
        return float((measured.gradient - expected).norm()) / max(norm, 1e-300)

    def holds_at(self, at: Callable[[float], Problem], sign: int, size: float) -> bool:
        return self.holds(at(sign * size))

    def holds(self, problem: Problem, size: float = 1.0) -> bool:
        return self.off(problem, size) <= (OFF32 if self.audited.in_float32 else OFF)


def limits_of(
    audited: Audited, match: Match, *, length: int, reach: float = NEAR_REFERENCE
) -> tuple[Limit, ...]:
    """Search the ranges of log ratios and advantages in which an exact match is true, outward from one.

    Log ratios to the reference, and on old samples to the old policy, go to +-FARTHEST, for correct and
    incorrect answers; advantages from a hundredth to a hundredfold. An end that was not found is infinite (0
    for advantages). Empty if the match is true everywhere or is not exact; (0, 0) if it fails within `reach`.
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
    """Range of log ratios to the policy `to` in which the match is true; None if no end was found."""
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
    longer = replace(search, length=3)
    inner = [0.98 * x for x in ends.values() if math.isfinite(x) and search.length > 1]

    def holds_longer(factor: float) -> bool:
        tried = product(inner, (True, False) if weighed else (True,))
        return all(longer.holds(_moved(to, factor * x, 3, search.reach, right=right)) for x, right in tried)

    # In answers of two tokens all ratios move alike: three tokens show if it is their sum that counts.
    level = "token" if holds_longer(1.0) else "sum" if holds_longer(2 / 3) else ""
    times = 2.0 if level == "sum" else 1.0
    example = example if level == "token" else example.replace("'s token is", " of two tokens is")
    what = f"log(pi/{to.removeprefix('log_')})"
    return Limit(what, times * ends[-1], times * ends[1], example, place, level)


def _sizes(search: _DomainSearch) -> Limit | None:
    """Range of sizes of advantages in which the match is true; None if no end was found."""
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
    """Problem with small log ratios and a rare token 0; answers that begin with it are correct if `right`."""
    # Token 0 is rare at every prefix, so that what it gains or loses changes little of the others.
    problem = random_problem(3, length, torch.Generator().manual_seed(0))
    near = near_the_reference(replace(problem, valid=((problem.token[:, 0] == 0) == right).double()), reach)
    logs = {name: log[:, 0] for name, log in _logs(near).items()}
    return _moved_to(near, {name: log + math.log(RARE) - logs["log_ref"] for name, log in logs.items()})


@cache
def _moved(to: str, x: float, length: int, reach: float, *, right: bool) -> Problem:
    """Base problem with log ratio x of token 0, at every prefix, of the policy to the policy `to`."""
    base = _base(length, reach, right=right)
    first = {name: log[:, 0] for name, log in _logs(base).items()}
    # For x > 0 the other policy gives the token less, for x < 0 the policy does, and the third one with it.
    if x > 0:
        return _moved_to(base, {to: first["log_pi"] - x})
    policy, third = first[to] + x, "log_old" if to == "log_ref" else "log_ref"
    return _moved_to(base, {"log_pi": policy, third: policy + first[third] - first["log_pi"]})


def _logs(problem: Problem) -> dict[str, Tensor]:
    """Next-token log-probabilities (prefixes, vocabulary) of log_pi, log_ref and log_old, by name."""
    return {name: torch.log_softmax(getattr(problem, field), -1) for name, field in LOGITS.items()}


def _moved_to(problem: Problem, first: dict[str, Tensor]) -> Problem:
    """Problem with token 0's log-probabilities `first` (prefixes,) by input; the rest in proportion."""
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
