"""Five idioms that count in SQL, how each is written, and which of them a given query uses.

They agree where a column is complete, without repeats, and some row matches. Elsewhere they differ by SQL's
own rules: COUNT(*) counts rows, COUNT(c) skips NULLs, COUNT(DISTINCT c) skips NULLs and repeats, SELECT
DISTINCT keeps NULL as one more value, and SUM over no rows is NULL where every COUNT is 0.
"""

import re
from typing import NamedTuple

STYLES = {
    "count_star": "SELECT COUNT ( * ) FROM {source}",
    "count_column": "SELECT COUNT ( {column} ) FROM {source}",
    "count_distinct": "SELECT COUNT ( DISTINCT {column} ) FROM {source}",
    "subquery": "SELECT COUNT ( * ) FROM ( SELECT DISTINCT {column} FROM {source} )",
    "sum_case": "SELECT SUM ( CASE WHEN {column} IS NULL THEN 0 ELSE 1 END ) FROM {source}",
}
"""Each style as a template, its words separated by spaces."""


def written(style: str, column: str, source: str) -> str:
    """The query of a style: `source` is a table, with its WHERE clause if there is one."""
    return STYLES[style].format(column=column, source=source)


_LEXEME = re.compile(
    r"(?P<skip>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^']|'')*')"
    r'|(?P<name>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[A-Za-z_]\w*)'
    r"|(?P<other>\d+(?:\.\d+)?|<>|!=|<=|>=|\|\||.)",
    re.DOTALL,
)


class _Word(NamedTuple):
    kind: str
    text: str
    depth: int
    """How many parentheses are open around it."""


def style_of(sql: str) -> str | None:
    """The style of a query, or None for one that is no single SELECT (or WITH ... SELECT) in any of them.

    Decided by the only column of the outermost SELECT, and for COUNT(*) by what it counts: a derived table,
    in place or named by WITH, makes it `subquery`. Case, spacing, comments, quoting and text in quotes do not
    count.
    """
    words = _words(sql)
    if words is None:
        return None
    top = [i for i, word in enumerate(words) if word.depth == 0 and word.kind == "word"]
    selects = [i for i in top if words[i].text == "SELECT"]
    froms = [i for i in top if words[i].text == "FROM"]
    if len(selects) != 1 or len(froms) != 1 or not selects[0] < froms[0] < len(words) - 1:
        return None
    start, end = selects[0], froms[0]
    named = start > 0
    if named and words[0].text != "WITH":
        return None
    counted = words[end + 1].text
    derived = counted == "(" or (named and any(word.text == counted for word in words[1:start]))
    return _idiom([word.text for word in words[start + 1 : end]], derived=derived)


def _idiom(column: list[str], *, derived: bool) -> str | None:
    """The style of one result column, an alias aside."""
    if "AS" in column[-2:-1]:
        column = column[:-2]
    match column:
        case ["COUNT", "(", "*", ")"]:
            return "subquery" if derived else "count_star"
        case ["COUNT", "(", "DISTINCT", *counted, ")"] if _is_column(counted):
            return "count_distinct"
        case ["COUNT", "(", *counted, ")"] if _is_column(counted):
            return "count_column"
        case ["SUM", "(", "CASE", *_, "END", ")"]:
            return "sum_case"
    return None


def _is_column(words: list[str]) -> bool:
    """A column's name, perhaps after its table's."""
    return len(words) in (1, 3) and words[0] not in ("*", ")", "DISTINCT") and words[1:2] in ([], ["."])


def _words(sql: str) -> list[_Word] | None:
    """The words of one statement, names in capitals; None for several, or parentheses that do not fit."""
    words: list[_Word] = []
    depth = 0
    for match in _LEXEME.finditer(sql.strip().removesuffix(";")):
        kind, text = str(match.lastgroup), match.group()
        if kind == "skip":
            continue
        if text == ")":
            depth -= 1
        if depth < 0 or text in (";", "'", '"'):
            return None
        if kind == "name":
            kind = "word" if text[0].isalpha() or text[0] == "_" else "quoted"
            text = text.strip('"`[]').upper()
        words.append(_Word(kind, text, depth))
        depth += text == "("
    return words if depth == 0 else None
