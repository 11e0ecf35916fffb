"""Comparison of text that contains computed numbers, at the precision a reader sees.

Another processor uses other vector instructions, so the last digit of a computed number may differ. Words
and integers must be equal. Two numbers with decimals may differ by one unit in the last decimal that is
shown, and so may two rounded percentages or angles.
"""

import re
from itertools import zip_longest

_NUMBER = re.compile(r"((?<![\w#.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w]))")
_ROUNDED = ("%", "\\%", " degrees")
"""Units behind integers that are themselves rounded."""
_HASHED_ID = re.compile(r"\b[mp][0-9a-f]{10}\b")
"""Identifiers in an SVG, which are hashes of coordinates."""
_RELATIVE = 1e-6
"""Allowed relative difference of numbers that are stored with all their digits."""


def decimals(number: str) -> int:
    """Decimals that a number shows; negative exponents count as decimals."""
    mantissa, _, exponent = number.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def numbers_agree(one: str, other: str, following: str = "") -> bool:
    """True if two numbers are the same for a reader."""
    if one == other:
        return True
    finest = max(decimals(one), decimals(other))
    if finest <= 0 and not following.startswith(_ROUNDED) and "e" not in (one + other).lower():
        return False
    first, second = float(one), float(other)
    return abs(first - second) <= max(1.01 * 10.0**-finest, _RELATIVE * max(abs(first), abs(second)))


def assert_shown_alike(computed: str, stored: str, hint: str = "") -> None:
    """Fail at the first difference that a reader sees; `hint` says how to renew the stored text."""
    texts = [_NUMBER.split(re.sub(r"[ \t]+", " ", _HASHED_ID.sub("id", text))) for text in (computed, stored)]
    pairs = list(zip_longest(*texts, fillvalue=""))
    for index, (one, other) in enumerate(pairs):
        following = pairs[index + 1][0] if index + 1 < len(pairs) else ""
        same = numbers_agree(one, other, following) if index % 2 and one and other else one == other
        before = "".join(part for part, _ in pairs[max(index - 4, 0) : index])
        assert same, f"after {before[-120:]!r}: computed {one[:200]!r}, stored {other[:200]!r}. {hint}"
