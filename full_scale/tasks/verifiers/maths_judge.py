"""Worker side of the maths verifier: one notation for answers, then math-verify under time limits."""

import re
import time
import unicodedata
from fractions import Fraction
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy import Expr, I

from .extract import last_marked
from .worker import JudgeOutcome

LARGEST_EXPONENT = 300  # Larger exponents of scientific notation are not read as numbers.

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
# SI: digits in groups of three, starting with the first.
_GROUPS = re.compile(rf"(?<![\d.,])\d{{1,3}}(?:{_SPACE}+\d{{3}})+(?!\d|{_SPACE}*/)")
_MIXED = re.compile(r"(?<![\d.,/^_}])(\d+)[ \u00a0]+(\d{1,3})/(\d{1,3})(?![\d.])")
_SCIENTIFIC = re.compile(r"(?<![\w.\\}])(\d+(?:\.\d*)?|\.\d+)[eE]([+-]?\d{1,9})(?![\w.(])")
_PERIOD = re.compile(r"(?<![\d.])(\d{1,300})\.(\d{,300})\\(?:overline|bar)\s*(?:\{(\d{1,300})\}|(\d))")
_DOTS = re.compile(
    r"(?<![\d.])(\d{1,300})\.(\d{,300})\\dot\s*(?:\{(\d)\}|(\d))(?:(\d{,300})\\dot\s*(?:\{(\d)\}|(\d)))?"
)
_TRAILING_POINT = re.compile(r"(?<=\d)\.(?=\s*(?:$|[,;)}\]$]))")
_WORD = re.compile(
    r"(?:\\(?:text|textbf|mathrm|textit)\s*\{\s*)?([A-Za-z]{4,}|yes|no|odd)\s*\}?\.?", re.IGNORECASE
)


_ROOT = re.compile(r"([√∛])\s*(?:\(([^()]*)\)|\{([^{}]*)\}|(\d+(?:\.\d+)?|[A-Za-z]))")
_VULGAR = re.compile("[¼½¾⅐-⅞]")
_RAISED = re.compile("[⁰¹²³⁴-⁹]+")

_PREFIXES = {"": "", "k": "kilo", "c": "centi", "m": "milli", "d": "deci"}
_BASES = {"m": "meter metre", "g": "gram", "L": "liter litre", "s": "second", "W": "watt", "J": "joule"}
_UNIT_NAMES = """min:minute h:hour,hr in:inch,inche ft:foot,feet yd:yard mi:mile lb:pound oz:ounce day:d
    week:wk year:yr mph:mi/h"""


def _units() -> dict[str, str]:
    """Canonical unit of every spelling of a unit of measure."""
    spellings = {"l": "L", "ml": "mL", "sec": "s", "kph": "km/h", "m/sec": "m/s"}
    for base, names in _BASES.items():
        for prefix, word in _PREFIXES.items():
            short = prefix + base
            spellings[short] = short
            spellings |= {f"{word}{name}{end}": short for name in names.split() for end in ("", "s")}
    for entry in _UNIT_NAMES.split():
        short, _, spelled = entry.partition(":")
        spellings |= {f"{name}{end}": short for name in (short, *spelled.split(",")) for end in ("", "s")}
    speeds = {f"{length}/{time}" for length in ("m", "km", "cm", "ft", "mi") for time in ("s", "h", "min")}
    return spellings | {speed: speed for speed in speeds}


_UNITS = _units()
_UNIT = re.compile(
    r"""(?<=[\d}])(?:[\s~]|\\[ ,;:!])*(?:\\(?:text|mathrm|textrm|mbox)\s*\{)?[\s~]*
    (?:(square|sq\.?|cubic)\s+)?([A-Za-z]+(?:/[A-Za-z]+)?)\.?[\s~]*\}?(?:\^\{?(\d)\}?)?[\s.\}]*$""",
    re.VERBOSE,
)


def unit(answer: str) -> str | None:
    r"""Unit of measure at the end of an answer, in one spelling and with its power, or None.

    `5 cm`, `5\text{ cm}^2`, `5 square centimeters`; unknown names do not count as units.
    """
    match = _UNIT.search(_bare(answer))
    if match is None or match[2] not in _UNITS:
        return None
    power = match[3] or {None: "1", "cubic": "3"}.get(match[1], "2")
    return f"{_UNITS[match[2]]}^{power}"


def _number(answer: str) -> str:
    """Answer without the unit at its end; an open brace is closed."""
    left = _UNIT.sub("", _bare(answer))
    return left + "}" * (left.count("{") - left.count("}"))


def _bare(answer: str) -> str:
    return answer.strip().strip("$").strip()


def plain(text: str) -> str:
    r"""Rewrite the numbers of a text in one notation.

    Full-width digits and those of other scripts become 0 to 9; spaces between groups of three digits are
    removed (`1\,000`, `12 345`); `1.2e-5` becomes a product with a power of ten, a recurring decimal
    (`0.\overline{3}`, `0.\dot{1}4\dot{2}`) its fraction, `2 1/2` a mixed number; a point at the end of a
    number is removed (`7.`); roots, fractions and powers with their own characters are written out (`√2`,
    `½`, `x²`).
    """
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text.translate(_CHARACTERS))
    text = _VULGAR.sub(lambda m: _written_out(m[0]), text)
    text = _RAISED.sub(lambda m: f"^{{{unicodedata.normalize('NFKC', m[0])}}}", text)
    text = _ROOT.sub(lambda m: f"\\sqrt{'' if m[1] == '√' else '[3]'}{{{m[2] or m[3] or m[4]}}}", text)
    text = _GROUPS.sub(lambda m: re.sub(r"\D", "", m[0].replace(r"\thinspace", "")), text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = _SCIENTIFIC.sub(_power, text)
    return _TRAILING_POINT.sub("", _DOTS.sub(_recurring, _PERIOD.sub(_recurring, text)))


_OR = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*or\s*\}|\bor\b|\\lor\b|\\vee\b")
_BELOW, _ABOVE = ("<", r"\\leq?\b|≤|<="), (">", r"\\geq?\b|≥|>=")
_HALF_LINE = re.compile(
    rf"\s*(?P<letter>[A-Za-z])\s*(?:(?P<le>{_BELOW[1]})|(?P<ge>{_ABOVE[1]})|(?P<sign>[<>]))\s*(?P<end>[^<>≤≥]+?)\s*"
)


def union(answer: str) -> str:
    r"""Join two half-lines of one letter with `or` to a union of intervals; other answers are unchanged.

    `x<2 \text{ or } x \geq 3` is `(-\infty,2)\cup[3,\infty)`.
    """
    parts = [_HALF_LINE.fullmatch(part) for part in _OR.split(_bare(answer))]
    if len(parts) < 2 or len({part and part["letter"] for part in parts}) > 1:
        return answer
    return r"\cup".join(_interval(part) for part in parts if part) if all(parts) else answer


def _interval(half_line: re.Match[str]) -> str:
    if half_line["le"] or half_line["sign"] == "<":
        return rf"(-\infty,{half_line['end']}" + ("]" if half_line["le"] else ")")
    return ("[" if half_line["ge"] else "(") + rf"{half_line['end']},\infty)"


def word(answer: str) -> str | None:
    """The single word of an answer, in lower case, or None.

    Words are compared as text: as a product of letters `live` would equal `evil`. A word has four letters, or
    is yes, no or odd; shorter ones are names of quantities.
    """
    match = _WORD.fullmatch(_bare(answer))
    return match[1].lower() if match else None


def _written_out(fraction: str) -> str:
    over, _, under = unicodedata.normalize("NFKC", fraction).partition("\u2044")
    return rf"\frac{{{over}}}{{{under}}}"


def _power(match: re.Match[str]) -> str:
    if abs(int(match[2])) > LARGEST_EXPONENT:
        return match[0]
    return rf"{match[1].rstrip('.')}\times 10^{{{int(match[2])}}}"


def _recurring(match: re.Match[str]) -> str:
    """Recurring decimal as a fraction; groups are integer part, digits before the period, the period."""
    integer, once, *parts = match.groups("")
    period = "".join(parts)
    repeated = Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(once))
    value = Fraction(int(integer + once), 10 ** len(once)) + repeated
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


_PER_CENT = re.compile(r"(.+?)\s*\\?%\.?", re.DOTALL)
_EQUALS = re.compile(r"(?<![<>!:=\\])=(?![^(]*\))(?![^{]*\})")  # Equality sign outside brackets and braces.
LONGEST_TEXT = 4000  # Characters at the end of an unmarked completion that are searched.
PLACES = 12
"""Decimal places to which a decimal must agree: 0.3333333333 is not 1/3, and 0.1 equals only 0.1."""
_TARGETS = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())


def judge(job: dict[str, Any]) -> dict[str, str]:
    r"""Outcome of an `answer` against the `gold` one.

    `correct`, `wrong`, `no_answer`, `timeout`, or `gold_error`. The last mark of the answer counts
    (`last_marked`), else the value that math-verify finds in its end, both in one notation (`plain`). An
    inequality may replace its interval; words are compared as words; if both have a unit of measure, it must
    be equal; no side of an equation may be another number; per cent are hundredths, except for a gold answer
    in per cent. math-verify abandons a step silently after `seconds`: a step of that length without a result
    is a `timeout`.
    """
    seconds = job["seconds"]
    gold_text, text = plain(job["gold"]), plain(job["answer"])
    marked = last_marked(text)
    gold_text, marked = union(gold_text), None if marked is None else union(marked)
    if marked is not None:
        gold_text, marked = _without_per_cent(gold_text, marked)
    units = (unit(gold_text), unit(text if marked is None else marked))
    if None not in units and units[0] == units[1] and marked is not None:
        gold_text, marked = _number(gold_text), _number(marked)
    gold, _ = _parsed(_marked(gold_text), seconds)
    if not gold:
        return {"outcome": JudgeOutcome.GOLD_ERROR, "detail": f"no answer in {job['gold']!r}"}
    expected = word(gold_text)
    if expected is not None and marked is not None:
        return {"outcome": JudgeOutcome.CORRECT if word(marked) == expected else JudgeOutcome.WRONG}
    if None not in units and units[0] != units[1]:
        return {"outcome": JudgeOutcome.WRONG}
    answer, late = _parsed(text[-LONGEST_TEXT:] if marked is None else _marked(marked), seconds)
    if not answer:
        return {"outcome": JudgeOutcome.TIMEOUT if late else JudgeOutcome.NO_ANSWER}
    begun = time.monotonic()
    if _equal(gold, answer, seconds) and not _contradicted(gold, marked or "", seconds):
        return {"outcome": JudgeOutcome.CORRECT}
    return {"outcome": JudgeOutcome.TIMEOUT if time.monotonic() - begun >= seconds else JudgeOutcome.WRONG}


def _equal(gold: list[Any], answer: list[Any], seconds: int) -> bool:
    """Compare by math-verify; on failure again with the letter i as the imaginary unit, if it is alone."""
    settings = {"float_rounding": PLACES, "allow_set_relation_comp": True, "timeout_seconds": seconds}
    if verify(gold, answer, **settings):
        return True
    complex_gold, complex_answer = _imaginary(gold), _imaginary(answer)
    if (complex_gold, complex_answer) == (gold, answer):
        return False
    return verify(complex_gold, complex_answer, **settings)


def _without_per_cent(gold: str, answer: str) -> tuple[str, str]:
    """Gold answer and answer without a per cent sign that both have; else the answer in hundredths."""
    given = _PER_CENT.fullmatch(_bare(answer))
    if given is None:
        return gold, answer
    expected = _PER_CENT.fullmatch(_bare(gold))
    return (expected[1], given[1]) if expected else (gold, rf"\frac{{{given[1]}}}{{100}}")


def _contradicted(gold: list[Any], answer: str, seconds: int) -> bool:
    """True if an equation's other side is a number different from the gold one."""
    sides = [_parsed(_marked(side), seconds)[0] for side in _EQUALS.split(answer)[:-1]]
    numbers = [side for side in sides if side and isinstance(side[0], Expr) and side[0].is_number]
    return not all(_equal(gold, number, seconds) for number in numbers)


def _imaginary(parsed: list[Any]) -> list[Any]:
    def read(expression: Any) -> Any:
        letters = expression.free_symbols if isinstance(expression, Expr) else set()
        return (
            expression.subs(dict.fromkeys(letters, I)) if {str(s) for s in letters} == {"i"} else expression
        )

    return [read(expression) for expression in parsed]


def _marked(answer: str) -> str:
    return rf"\boxed{{{answer}}}"


def _parsed(text: str, seconds: int) -> tuple[list[Any], bool]:
    """Result of math-verify's parser, and True if its time ran out."""
    begun = time.monotonic()
    return parse(text, _TARGETS, parsing_timeout=seconds), time.monotonic() - begun >= seconds
