"""A match in words short enough for a table."""

from .report import Match
from .verdict import angle_words, differ


def match_words(match: Match) -> str:
    """Such as: reverse KL(pi||ref), per token."""
    if match.name in ("zero", "failed"):
        return {"zero": "zero", "failed": "-"}[match.name]
    if match.exact:
        one = match.constant is None or abs(match.constant - 1) < 1e-6
        return f"{'' if one else f'{match.constant:.4g} times '}{match.name}{', per token' * match.per_token}"
    if match.bias is not None:
        return f"biased; nearest {match.name} ({match.bias[0]:+.0%} to {match.bias[1]:+.0%})"
    if match.angle is not None:
        return f"none; nearest {match.name} ({angle_words(match.angle)})"
    return "none"


def both_words(single: Match, sequence: Match) -> str:
    """The match on single outcomes, and on sequences where that is another one and either is exact."""
    words = match_words(single)
    if differ(single, sequence) and (single.exact or sequence.exact):
        words += f"; on sequences: {match_words(sequence)}"
    return words
