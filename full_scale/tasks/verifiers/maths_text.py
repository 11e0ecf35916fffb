r"""How an answer is written, made one before math-verify reads it: digits, separators, powers, periods.

What each rule decides stands beside it; the table of pairs in the tests is the reference.
"""

import re
import unicodedata
from fractions import Fraction

LARGEST_EXPONENT = 300
"""Of scientific notation that is read as a number: beyond, no one means one."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_CHARACTERS = _FULL_WIDTH | str.maketrans(
    {
        "\u2212": "-",
        "\u066b": ".",
        "\u066c": ",",
        "\u00d7": r"\times ",
        "\u00b7": r"\cdot ",
        "\u221e": r"\infty ",
    }
)
_SPACE = r"(?:\\[,;:! ]|\\thinspace|~|[ \u00a0\u2009\u202f])"
# SI: digits in groups of three, from the first one on.
_GROUPS = re.compile(rf"(?<![\d.,])\d{{1,3}}(?:{_SPACE}+\d{{3}})+(?!\d|{_SPACE}*/)")
_MIXED = re.compile(r"(?<![\d.,/^_}])(\d+)[ \u00a0]+(\d{1,3})/(\d{1,3})(?![\d.])")
_SCIENTIFIC = re.compile(r"(?<![\w.\\}])(\d+(?:\.\d*)?|\.\d+)[eE]([+-]?\d+)(?![\w.(])")
_PERIOD = re.compile(r"(?<![\d.])(\d+)\.(\d*)\\(?:overline|bar)\s*(?:\{(\d+)\}|(\d))")
_DOTS = re.compile(r"(?<![\d.])(\d+)\.(\d*)\\dot\s*(?:\{(\d)\}|(\d))(?:(\d*)\\dot\s*(?:\{(\d)\}|(\d)))?")
_TRAILING_POINT = re.compile(r"(?<=\d)\.(?=\s*(?:$|[,;)}\]$]))")
_WORD = re.compile(
    r"(?:\\(?:text|textbf|mathrm|textit)\s*\{\s*)?([A-Za-z]{4,}|yes|no|odd)\s*\}?\.?", re.IGNORECASE
)


def plain(text: str) -> str:
    r"""The text with its numbers in one notation.

    Full-width and other scripts' digits become 0 to 9; spaces between groups of three digits go (`1\,000`,
    `12 345`); `1.2e-5` becomes a product with a power of ten, a recurring decimal (`0.\overline{3}`,
    `0.\dot{1}4\dot{2}`) its fraction, `2 1/2` a mixed number; a point that ends a number goes (`7.`).
    """
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text.translate(_CHARACTERS))
    text = _GROUPS.sub(lambda m: re.sub(r"\D", "", m[0].replace(r"\thinspace", "")), text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = _SCIENTIFIC.sub(_power, text)
    text = _PERIOD.sub(lambda m: _recurring(m[1], m[2], m[3] or m[4]), text)
    text = _DOTS.sub(lambda m: _recurring(m[1], m[2], _dotted(m)), text)
    return _TRAILING_POINT.sub("", text)


def word(answer: str) -> str | None:
    """The one word an answer consists of, in small letters, or none.

    Words are compared as they are: as a product of letters `live` would be `evil`. Four letters make a
    word, so do yes, no and odd; shorter ones are names of quantities.
    """
    found = _WORD.fullmatch(answer.strip().strip("$").strip())
    return found[1].lower() if found else None


def _power(match: re.Match[str]) -> str:
    if abs(int(match[2])) > LARGEST_EXPONENT:
        return match[0]
    return rf"{match[1].rstrip('.')}\times 10^{{{int(match[2])}}}"


def _dotted(match: re.Match[str]) -> str:
    """The period between the dots, or under the only one."""
    return f"{match[3] or match[4]}{match[5] or ''}{match[6] or match[7] or ''}"


def _recurring(whole: str, once: str, period: str) -> str:
    repeated = Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(once))
    value = Fraction(int(whole + once), 10 ** len(once)) + repeated
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
