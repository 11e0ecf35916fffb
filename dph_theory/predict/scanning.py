"""From a file to the settings in it, each with its line.

Nothing is run and no language is parsed in full. A variable is followed to the values that the file assigns;
where the file does not give a value, the value stays unresolved. Files that a script calls, or that
`defaults` names, are read below the file's own settings.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import yaml

from ..support.record import flat
from .python_files import code_of
from .values import Settings, Stated, Unresolved, arithmetic, collected, plain, scalar

_FILES = ("defaults", "calls", "config")
"""Names under which the readers below give other files."""


@dataclass(frozen=True)
class ScannedFile:
    """The settings in a file, by plain name, and the file's text."""

    settings: Settings
    text: str


def scan(path: Path, above: tuple[Path, ...] = ()) -> ScannedFile:
    """Read the settings of a file.

    Args:
        path: A file of YAML, JSON, TOML, Python, a notebook, or a script of any other kind.
        above: Files that led to this one; their settings come before.

    Returns:
        The settings by plain name, each with all values that the file gives, and the text.

    Raises:
        ValueError: If the file is YAML, JSON or a notebook that cannot be parsed.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        pairs = [*_READERS.get(path.suffix, _script)(text)]
    except (yaml.YAMLError, json.JSONDecodeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be parsed as {path.suffix[1:]} ({error})") from error
    if above:
        pairs = [(name, replace(one, where=f"{path.name}:{one.where}")) for name, one in pairs]
    settings: Settings = {}
    for name, one in pairs:
        if plain(name) in _FILES:
            settings |= _other_file(path, plain(name), one, (*above, path))
    settings |= collected((name, one) for name, one in pairs if plain(name) not in _FILES)
    if not above:
        settings = {name: [_interpolated(one, settings) for one in ones] for name, ones in settings.items()}
    return ScannedFile(settings, text)


def _other_file(path: Path, kind: str, one: Stated, above: tuple[Path, ...]) -> Settings:
    """Settings of a file that this file includes; one unresolved setting if that file does not exist."""
    name = re.sub(r"^\$(\{?\w+\}?|\(\.\.\.\))/| .*", "", str(one.value))
    folders = [path.parent] if kind == "defaults" else path.parents
    places = [folder / f"{name}{ending}" for folder in folders for ending in ("", path.suffix)]
    file = next((place for place in places if place.is_file()), None)
    if file is not None and file not in above:
        return scan(file, above).settings
    absent = kind if kind == "config" else f"settings of {name}"
    return {} if name == "_self_" else {absent: [replace(one, value=Unresolved(name))]}


def _yaml(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield (dotted name, value) of the first YAML or JSON document; W&B's `name.value` counts as `name`."""
    root = next(iter(yaml.compose_all(text.expandtabs(), Loader=yaml.SafeLoader)), None)
    leaves = list(_leaves(root, "")) if root else []
    stems = {name.partition(".value")[0] for name, _ in leaves if re.match(r"[\w-]+\.value(\.|$)", name)}
    for name, one in leaves:
        stem, _, field = name.partition(".")
        if stem not in stems:
            yield name, one
        elif field != "desc":
            yield f"{stem}.{field.removeprefix('value').lstrip('.')}".rstrip("."), one


def _leaves(node: yaml.Node, name: str, conditional: bool = False) -> Iterator[tuple[str, Stated]]:
    """Yield (dotted name, value) of the leaves under a node; those of merged anchors after its own."""
    inside = node.value if isinstance(node, yaml.SequenceNode) else []
    if isinstance(node, yaml.MappingNode):
        own = [leaf for key, inner in node.value if key.value != "<<"
               for leaf in _leaves(inner, f"{name}.{key.value}".lstrip("."), conditional)]  # fmt: skip
        merged = (one for key, inner in node.value if key.value == "<<"
                  for one in (inner.value if isinstance(inner, yaml.SequenceNode) else [inner]))  # fmt: skip
        yield from own
        names = {name for name, _ in own}
        yield from (leaf for one in merged for leaf in _leaves(one, name) if leaf[0] not in names)
    elif inside and (name == "defaults" or isinstance(inside[0], yaml.MappingNode)):
        yield from (leaf for inner in inside for leaf in _leaves(inner, name, len(inside) > 1))
    else:
        text = node.value if inside is not node.value else " ".join(str(inner.value) for inner in inside)
        yield name, Stated(scalar(text), str(node.start_mark.line + 1), conditional)


def _interpolated(one: Stated, settings: Settings) -> Stated:
    """Value that a reference ${a.b} points to, followed repeatedly; Unresolved if it cannot be found."""
    match = re.fullmatch(r"\$\{([\w.]+)\}", str(one.value))
    named = settings.get(match[1], []) if match else []
    if len(named) == 1 and named[0].value != one.value:
        return replace(_interpolated(named[0], settings), conditional=one.conditional)
    return replace(one, value=Unresolved(one.value)) if "${" in str(one.value) else one


def _toml(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield (dotted name, value); a setting in only some of several [[tables]] counts as conditional."""
    tables, pairs, prefix = Counter[str](), list[tuple[str, Stated]](), ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line):
            prefix = f"{header[2]}."
            tables[prefix] += header[1] == "[["
        elif key := re.match(r"\s*([\w.\-\"]+)\s*=", line):
            try:
                leaves = flat(tomllib.loads(line))
            except tomllib.TOMLDecodeError:  # The first line of a value of several lines.
                leaves = {key[1]: Unresolved("[...]")}
            pairs += [(prefix + leaf, Stated(value, str(number))) for leaf, value in leaves.items()]
    times = Counter(name for name, _ in pairs)
    for name, one in pairs:
        repeats = max((count for table, count in tables.items() if name.startswith(table)), default=0)
        yield name, replace(one, conditional=times[name] < repeats)


def _python(text: str, *, notebook: bool = False) -> Iterator[tuple[str, Stated]]:
    """Yield (name, value) of keyword arguments, then of command-line options in the code's strings.

    An option in a string counts only if the code leaves it open; it is conditional if only some of several
    commands of a program have it.
    """
    for code in code_of(text, notebook=notebook):
        own = [*code.settings()]
        yield from own
        given = {name.rpartition(".")[2] for name, one in own if not isinstance(one.value, Unresolved)}
        for commands in code.commands():
            options = [[*_script(command)] for command in commands]
            runs = [dict(pairs).keys() for command, pairs in zip(commands, options, strict=True)
                    if ".py" in command]  # fmt: skip
            for name, one in (pair for pairs in options for pair in pairs if plain(pair[0]) not in given):
                in_some = 0 < sum(name in names for names in runs) < len(runs)
                where, conditional = code.where + one.where, one.conditional or in_some
                yield name, replace(one, where=where, conditional=conditional)


_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}]*|[^{}]*\$\{[^{}]*\}[^{}]*))?\})")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)|[\"']?\$\{(\w+):?=(.*)\}[\"']?", re.S)
_OPTION = re.compile(r"(--[A-Za-z][\w.\-]*)(?:=(.*))?|(\+*[A-Za-z_][\w\-]*(?:[./][\w\-]+)+)=(.*)", re.S)
_NO_VALUE = re.compile(r"--|[&|;<>)#]|\+*[\w.]+=|\"?\$(?:\{?\w+\[|[@*])")
_OPENS, _CLOSES = ("if", "for", "while", "until", "case"), ("fi", "done", "esac")


def _script(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield (name, value) of --name value, --name=value and a.b=value in a shell script and files it calls.

    A setting is conditional if it stands deeper in branches than most, or after && or ||.
    """
    lines = [*_script_lines(text)]
    assigned = collected(
        (match[1] or match[3], Stated((match[2] or match[4] or "").strip("\"'"), number, branches > 0))
        for number, words in lines for word, branches in words if (match := _ASSIGNMENT.fullmatch(word))
    )  # fmt: skip
    options = [(number, *option) for number, words in lines for option in _options(words)]
    usual = Counter(branches for *_, branches in options).most_common(1)[0][0] if options else 0
    for number, name, value, branches in options:
        values = _followed(value, number, assigned)
        if name == "--config" and len(values) > 1:
            values = [Stated(Unresolved(value), number)]
        for one in values:
            yield name, replace(one, conditional=one.conditional or branches > usual)
    for number, words in lines:
        for (word, _), (after, _) in pairwise(words):
            if word in ("bash", "sh", "source", ".") and re.search(r"\.(sh|ya?ml)\W?$", after):
                yield "calls", Stated(after.strip("\"'"), number)


def _script_lines(text: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield (line number, [(word, depth of enclosing branches), ...]) for each line of a script."""
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"\$\(\([^()]*\)\)", lambda product: re.sub(r"\s", "", product[0]), line)
        line = re.sub(r"\$\((?!\()[^()]*\)|`[^`]*`", "$(...)", re.sub(r"(?:^|(?<=\s))#.*", "", line))
        words, starts, chained = list[tuple[str, int]](), True, 0
        for word in _words(line):
            depth = max(0, depth + (starts and word in _OPENS) - (word.rstrip(";") in _CLOSES))
            words.append((re.sub(r"(?<=[^;]);$", "", word), depth + chained))
            starts = word in ("then", "do", "else") or word[-1:] in (";", "&", "|")
            chained |= word in ("&&", "||")
        yield str(number), words


def _words(line: str) -> Iterator[str]:
    """Yield the words of a line; a quoted string of options is split into its words."""
    for word in _WORD.findall(line):
        quoted = re.fullmatch(r"(?:\w+\+?=)?\(?([\"'])(.*)\1[,)]?", word)
        if quoted and re.search(r"(?:^|\s)(?:--\w|\w+\.[\w.]+=)", quoted[2]) and " " in quoted[2]:
            yield from _words(quoted[2])
        elif opened := re.fullmatch(r"\w+\+?=\((.+)", word):
            yield from _words(opened[1])
        else:
            extra = max(0, word.count(")") - word.count("("))
            closed = extra > 0 and word.endswith(")" * extra)
            yield from (word[: len(word) - extra], *")" * extra) if closed else (word,)


def _options(words: list[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield (name, value as written, depth of branches) for each option among the words of a line."""
    for place, (word, branches) in enumerate(words):
        match = _OPTION.fullmatch(word)
        if match is None or _ASSIGNMENT.fullmatch(word):
            continue
        value = match[4] if match[3] else match[2]
        if value is None:
            later = [other for other, _ in words[place + 1 :]]
            ends = (at for at, other in enumerate(later) if _NO_VALUE.match(other)
                    or (at and other.startswith("$(")))  # fmt: skip
            value = " ".join(other.strip("\"'") for other in later[: next(ends, None)]) or "true"
        yield match[1] or match[3], value, branches


def _followed(text: str, where: str, assigned: Settings, depth: int = 0) -> list[Stated]:
    """Values that a text with $VARIABLES can have, from the assignments in the file; else Unresolved."""
    match = _VARIABLE.search(text)
    if match is None or depth > 20:
        product = re.fullmatch(r"\$\(\((\d+(?:[*/]\d+)*)\)\)", text.strip("\"'"))
        text = f"{arithmetic(product[1]):g}" if product else text
        return [Stated(Unresolved(text) if "$" in text else scalar(text), where)]
    values = _assigned_values(match, where, assigned)
    if not values:
        return [Stated(Unresolved(text), where)]
    outcomes: dict[str, Stated] = {}
    for one in values:
        replaced = text.replace(match[0], one.value.strip("\"'"))
        at = f"{where} via {one.where}" if one.where and one.where not in where.split(" via ") else where
        for outcome in _followed(replaced, at, assigned, depth + 1):
            conditional = outcome.conditional or (one.conditional and len(values) == 1)
            outcomes.setdefault(str(outcome.value), replace(outcome, conditional=conditional))
    return [*outcomes.values()]


def _assigned_values(match: re.Match[str], where: str, assigned: Settings) -> list[Stated]:
    """Possible values of a variable at a line: those since its last unconditional assignment, or default."""
    name, default = match[1] or match[2], match[3]
    values = []
    for one in assigned.get(name, ()):  # VAR=${VAR:-x} is x.
        value = re.sub(rf"^\$\{{{name}:?[-=](.*)\}}$", r"\1", one.value)
        if not re.search(rf"\$\{{?{name}\b", value) and (value or default is None):
            values.append(replace(one, value=value))
    line = int(where.partition(" ")[0])
    certain = [at for at, one in enumerate(values) if not one.conditional and int(one.where) <= line]
    values = values[certain[-1] :] if certain else values
    if default is not None and all(one.conditional for one in values):
        values.append(Stated(default, ""))
    return values


_Reader = Callable[[str], Iterable[tuple[str, Stated]]]
_READERS: dict[str, _Reader] = {**dict.fromkeys((".yaml", ".yml", ".json"), _yaml), ".toml": _toml,
                                ".py": _python, ".ipynb": partial(_python, notebook=True)}  # fmt: skip
