"""The verdict of an audit: one to three plain sentences, what is wrong first."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ..methods.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL
from .report import PER_TOKEN, REWARD, SEVERAL, AuditReport, Limit, Match, angle_words, end_words

MOST = 3
"""So many sentences; what is left stands in the rows."""
_ENDS: Mapping[str, str] = MappingProxyType(
    {
        FILTERED: "With a small beta training ends at the base's right answers, in the base's proportions",
        LOCAL: "With a small beta only right answers remain, those of constrained decoding",
        FORWARD_LIMIT: "With a small beta only right answers remain, not in the base's proportions",
        BASE_RATE: "It ends at right answers in the base's proportions, as often as the base gives one",
    }
)
_ALARMS: tuple[tuple[Callable[[AuditReport], bool], str], ...] = (
    (
        lambda r: r.reduction is not None and r.reduction.padding == "ignores its mask",
        "It IGNORES ITS MASK: what stands at masked tokens changes it, and the rest need not hold.",
    ),
    (
        lambda r: r.reduction is not None and r.reduction.padding == "fills holes",
        "It FILLS HOLES in its mask: masked tokens between an answer's own, as a tool's are, change it.",
    ),
    (
        lambda r: r.precision == "16 bits",
        "It computes in 16 bits, too coarse to recognise anything: audit it in 32 or 64.",
    ),
    (
        lambda r: r.drops_penalty,
        "Where a group's verdicts agree (advantage 0) it has NO PENALTY: nothing holds those prompts.",
    ),
    (
        lambda r: r.equal_groups is not None and r.equal_groups.weight == "left out",
        "Answers of advantage 0 are left out of the mean: the others count for more.",
    ),
    (
        lambda r: (
            r.reduction is not None and r.reduction.padding in ("divides by the padded length", "other")
        ),
        "It depends on how far the batch is padded.",
    ),
)


def verdict_of(report: AuditReport) -> str:
    """Such as: k3 on policy samples: It descends the forward KL(ref||pi) of each token. With a small ..."""
    start = f"{report.loss} on {report.samples.replace('_', ' ')} samples: "
    if report.gradient.name == "failed" and report.failed:
        return f"{start}could not be audited: {report.failures[0].what} (on {report.failures[0].problem})"
    alarms = _alarms(report)
    rest = (*_beyond(report), *_terms(report), *_value(report), *_end(report), *_failures(report))
    found = [*alarms[: MOST - 1], main_sentence(report), *rest]
    return start + " ".join([*found, *alarms[MOST - 1 :]][:MOST])


def _alarms(report: AuditReport) -> list[str]:
    said = [words for holds, words in _ALARMS if holds(report)]
    if report.broadcast:
        said.insert(0, f"It MIXES ANSWERS: a broadcast of {report.broadcast} meets each with every other.")
    for failure in report.failures:
        if failure.problem == SEVERAL:
            said.append(f"It FAILS on {SEVERAL} ({failure.what}): all this is about batches of one.")
    if report.equal_groups is not None and report.equal_groups.why:
        said.append(f"Where all advantages are 0, {report.equal_groups.why}.")
    return said


def main_sentence(report: AuditReport) -> str:
    """What it descends, on sequences where it is known there, and while what holds."""
    if report.batches is not None:
        sizes = "; ".join(f"at B = {size}, {descended(match)}" for size, match in report.batches.gradients)
        return f"It couples the answers of a batch and descends, {sizes}."
    one, several = report.match, report.sequence_match
    found, limits = (several, report.sequence_limits) if several.exact else (one, report.limits)
    where = "" if several.exact or not one.exact else "On single tokens, not on longer answers, "
    if several.name == "failed":
        found, limits, where = one, report.limits, ""
    if not limits:
        sentence = _sentence(found)
        return f"{where}{sentence[0].lower()}{sentence[1:]}" if where else sentence
    whiles = " and ".join(_while(limit) for limit in limits)
    sentence = _sentence(found).replace("It ", "it ", 1).replace("This ", "this ", 1)
    return f"{where}{'while' if where else 'While'} {whiles} {sentence}"


def _sentence(match: Match) -> str:
    if match.name == "zero":
        return "Its gradient is ZERO in expectation: training on it changes nothing but noise."
    if not match.exact:
        near = "nothing is near" if match.angle is None else f"nearest is {_nearest(match)}"
        return f"It descends none of the known quantities; {near}."
    names = [name for _, name in match.terms or ((1.0, match.name),)]
    reward = any(name.startswith(REWARD) for name in names)
    if not match.terms and (match.constant or 1.0) < 0 and "entropy" not in match.name:
        return (
            f"It RAISES {plain(match.name)}: a sign error."
            if not reward
            else ("It LOWERS the expected reward: a sign error.")
        )
    return f"{'This is' if reward else 'It descends'} {descended(match)}."


def _nearest(match: Match) -> str:
    """The nearest, or its opposite, and how far off its direction is."""
    opposite = "the opposite of " * (match.constant == -1)
    angle = match.angle or 0.0
    return f"{opposite}{plain(match.name)} ({'up to ' * (angle >= 1)}{angle_words(angle)} off)"


def plain(name: str) -> str:
    """A quantity in words: the forward KL(ref||pi) of each token; the reward's policy gradient."""
    bare = name.removesuffix(PER_TOKEN[1])
    if bare == REWARD:
        return "the reward's policy gradient"
    if bare.startswith("token sum of "):
        return f"the {bare.removeprefix('token sum of ').split(' on the samples')[0]} of each token"
    return f"the {bare}"


def descended(match: Match) -> str:
    """Such as: the reward's policy gradient plus 0.04 times the forward KL(ref||pi) of each token."""
    if not match.exact or match.name == "zero":
        return "nothing" if match.name == "zero" else "none of the known quantities"
    terms = match.terms or ((match.constant or 1.0, match.name),)
    words = " plus ".join(_term(constant, name) for constant, name in terms).replace("plus minus", "minus")
    every = {name.endswith(PER_TOKEN[1]) for _, name in terms} == {True}
    per = PER_TOKEN[1] if every and not match.per_token else PER_TOKEN[match.per_token]
    return f"{words}{per.replace('per token', 'divided by the number of tokens')}"


def _term(constant: float, name: str) -> str:
    """A term with its coefficient: to raise an entropy is a bonus."""
    size = abs(constant)
    if "entropy" in name:
        return f"an entropy {'bonus' if constant < 0 else 'penalty'} of {size:.6g}"
    times = "" if abs(size - 1) < 1e-6 else f"{size:.6g} times "
    return f"{'minus ' * (constant < 0)}{times}{plain(name)}"


def _while(limit: Limit) -> str:
    """Such as: every ratio pi/old is between 0.8 and 1.2."""
    low, high = limit.low, limit.high
    if low == high:
        return "every log ratio is zero"
    what, number = f"every {limit.what}", "{:.3g}".format
    if limit.what == "|A|":
        what, low = "every advantage's size", low or -math.inf
    if limit.what == "log(pi/old)":
        what, low, high = "every ratio pi/old", math.exp(low) or -math.inf, math.exp(high)
    if math.isinf(low):
        return f"{what} is at most {number(high)}"
    if math.isinf(high):
        return f"{what} is at least {number(low)}"
    return f"{what} is between {number(low)} and {number(high)}"


def _terms(report: AuditReport) -> list[str]:
    """The parts of a loss that are known near log ratios of zero alone."""
    if report.sequence_match.exact or report.match.exact:
        return []
    near = [f"its {term.name} term is {descended(term.near)}" for term in report.terms if term.near.exact]
    return [f"Near ratios of one {' and '.join(near)}."] if near else []


def _value(report: AuditReport) -> list[str]:
    """What the logged number estimates, where that is exact and another quantity than what is descended."""
    bare = report.value.name.removesuffix(" + log A1")
    known = report.value.exact and report.gradient.exact and "zero" not in (bare, report.gradient.name)
    if not known or report.gradient.terms or bare == report.gradient.name:
        return []
    return [f"Its value, the number logged, estimates {plain(report.value.name)}."]


def _beyond(report: AuditReport) -> list[str]:
    limits: Sequence[Limit] = report.sequence_limits if report.sequence_match.exact else report.limits
    return [f"Beyond, it is not: {limits[0].example}."] if limits and limits[0].example else []


def _end(report: AuditReport) -> list[str]:
    if report.selects in _ENDS:
        return [f"{_ENDS[report.selects]} ({end_words(report)})."]
    if report.minimiser is not None:
        return [f"On correct samples {_MINIMISERS[report.minimiser.target]}."]
    if report.law == "no penalty" and report.sequence_match.name == REWARD:
        return ["No KL: nothing holds the policy to the base."]
    return []


_MINIMISERS: Mapping[str, str] = MappingProxyType(
    {
        "p_*": "it is least at the filtered model p_*",
        "base rate": "it is least at the base's own pass rate",
        "constant": "it is least at a multiple of the base's own pass rate",
        "other": "it is least at a pass rate that is neither 1 nor a multiple of the base's",
        "none": "it has no least value, or moves nothing",
    }
)


def _failures(report: AuditReport) -> list[str]:
    others = [failure for failure in report.failures if failure.problem != SEVERAL]
    return [f"It failed on {len(others)} of the problems ({others[0].what})."] if others else []
