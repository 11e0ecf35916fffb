"""The verdict on one claim: false at a point, or proved by the deciders that reach it, or undecided."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from ...statement.theorem import Claim, Verdict
from . import by_sympy
from .evaluation import Point
from .points import POINTS, QUICK_POINTS, trial


@dataclass(frozen=True)
class Decision:
    """A step's verdict, who reached it ("points" for a counterexample), and why if it is not proved.

    A sentence has no verdict; that of a false step says whether it is refused.
    """

    text: str
    verdict: Verdict | None = None
    by: tuple[str, ...] = ()
    detail: str = ""
    kind: Literal["claim", "false step", "sentence"] = "claim"


def deciders() -> Mapping[str, Callable[[Claim], bool | None]]:
    """The deciders that this machine has, by name: z3 needs the optional package z3-solver."""
    if find_spec("z3") is None:
        return {by_sympy.NAME: by_sympy.decide}
    from . import by_z3

    return {by_z3.NAME: by_z3.decide, by_sympy.NAME: by_sympy.decide}


def decide(claim: Claim, *, seed: int = 0, first_only: bool = False) -> Decision:
    """Try the claim at points, then put it to all deciders; quicker, at fewer points and to the first one."""
    wanted = QUICK_POINTS if first_only else POINTS
    tried = trial(claim, seed, wanted)
    if tried.broken_at is not None:
        return Decision(claim.text, Verdict.REFUTED, ("points",), f"false at {_written(tried.broken_at)}")
    if tried.undefined_at is not None:
        return _undecided(claim, f"has no value at {_written(tried.undefined_at)}")
    answers: dict[str, bool | None] = {}
    for name, decider in deciders().items():
        answers[name] = decider(claim)
        if first_only and answers[name]:
            break
    true = tuple(name for name, answer in answers.items() if answer is True)
    false = tuple(name for name, answer in answers.items() if answer is False)
    if true and false:
        return _undecided(claim, f"proved by {true[0]} and refuted by {false[0]}")
    if false:
        return Decision(claim.text, Verdict.REFUTED, false, "false by its form")
    if not true:
        return _undecided(claim, f"out of reach of {' and '.join(answers)}")
    if not tried.enough(claim, wanted):
        return _undecided(claim, f"known to hold at {tried.known} points only")
    return Decision(claim.text, Verdict.PROVED, true)


def _undecided(claim: Claim, why: str) -> Decision:
    return Decision(claim.text, Verdict.UNDECIDED, (), why)


def _written(point: Point) -> str:
    return ", ".join(f"{symbol} = {number}" for symbol, number in point.items()) or "its only value"
