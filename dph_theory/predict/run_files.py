"""From a file to the runs that it states: records and files of settings, one command, one call."""

import ast
import importlib
import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import argument_error
from ..support.record import flat

if TYPE_CHECKING:
    from .configuration import Configuration


@dataclass(frozen=True)
class Unknown:
    """What stands in a file for a value that the file does not state."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ConfiguredRun:
    """One run: where it stands, the program or the class and imports that show its trainer, its settings.

    `typed` are the names given beside a file or a trainer's name; the run of a `file` may be of any version;
    `configuration`, what it amounts to, where its reader says that itself.
    """

    where: str
    marks: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    typed: frozenset[str] = frozenset()
    file: bool = True
    configuration: "Configuration | None" = None


def runs(path: Path, overrides: Sequence[str] = ()) -> list[ConfiguredRun]:
    """The runs of a file, each with the overrides; ValueError for a file that holds none."""
    text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    readers = {".py": _python, **dict.fromkeys((".json", ".toml", ".yaml", ".yml"), _tree)}
    try:
        stated = [run for run in readers.get(path.suffix, _script)(text, path) if run.marks or run.settings]
    except RecursionError as error:
        raise argument_error("config", str(path), "a file that does not hold itself") from error
    if not stated:
        raise argument_error("config", str(path), "a file that holds settings")
    changes = [_interpolated(overridden(overrides, run.settings)) for run in stated]
    typed = frozenset(overridden([word for word in overrides if "=" in word]))
    return [replace(run, settings=now, typed=typed) for run, now in zip(stated, changes, strict=True)]


def overridden(words: Sequence[str], settings: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Settings with those given as NAME=VALUE, hydra's + and ++ before, or ~NAME to take one out."""
    changed = dict(settings)
    for word in words:
        name, equals, value = word.lstrip("+").partition("=")
        if name.startswith("~"):
            removed = f"{name[1:]}."
            changed = {other: old for other, old in changed.items() if not f"{other}.".startswith(removed)}
        elif equals and name.strip("-"):
            name = name.lstrip("-")
            changed[name.replace("-", "_") if "." in name else name] = scalar(value)
        else:
            raise argument_error("setting", word, "NAME=VALUE, such as beta=0.04")
    return changed


def scalar(text: str) -> Any:
    """A word as a value; one in which a zero byte stands before what a script does not state is unknown."""
    if "\0" in text:
        return Unknown(text.replace("\0", ""))
    for number in (int, float):  # A whole number stays as it was typed.
        with suppress(ValueError):
            return number(text)
    return {"true": True, "false": False, "null": None}.get(text.lower(), text.strip("'\""))


def optional_library(module: str) -> Any:
    """A library of the extra "predict"."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"to read this needs {module}: pip install -e '.[predict]'") from error


def matching(patterns: Collection[str], texts: Sequence[str]) -> list[str]:
    """Those of the texts that one of the patterns meets."""
    return [text for text in texts if any(fnmatchcase(text, pattern) for pattern in patterns)]


def _tree(text: str, path: Path) -> Iterator[ConfiguredRun]:
    """Settings by name: a run's own record, or a file of its trainer's names."""
    if path.suffix == ".json":
        trees = [json.loads(text)]
    elif path.suffix == ".toml":
        trees = [tomllib.loads(text)]
    else:
        yaml = optional_library("yaml")
        try:
            trees = [document for document in yaml.safe_load_all(text) if document is not None]
        except yaml.YAMLError as error:
            raise ValueError(f"no YAML: {error}") from error
    if not trees or not all(isinstance(tree, dict) for tree in trees):
        raise argument_error("config", str(path), "a file of settings, name by name")
    for number, tree in enumerate(trees):
        where = "the record of hydra" if path.parent.name == ".hydra" else "a file of settings"
        where += "" if len(trees) == 1 else f", document {number + 1}"
        values = {name: entry for name, entry in tree.items() if name not in ("wandb_version", "_wandb")}
        if values and all(isinstance(entry, dict) and "value" in entry for entry in values.values()):
            where, tree = "the record of W&B", {name: entry["value"] for name, entry in values.items()}
        yield ConfiguredRun(where, (), _composed(tree, path))


def _composed(tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A tree's settings over those of the files that its `defaults` name; one not beside it is unknown.

    A name is that of a file beside it, with or without its ending; {group: option} is a file of the group's
    folder, whose settings stand under the group's name, as in Hydra.
    """
    entries, settings = tree.get("defaults") or [], dict[str, Any]()
    for entry in [entries] if isinstance(entries, str) else entries:
        group, name = next(iter(entry.items())) if isinstance(entry, dict) and entry else ("", entry)
        below = [path.parent / str(group) / f"{name}{ending}" for ending in ("", path.suffix)]
        if file := next((place for place in below if place.is_file()), None):
            read = next(_tree(file.read_text(encoding="utf-8-sig"), file)).settings
            package = f"{group}.".replace("/", ".") if group else ""
            settings |= {f"{package}{inner}": value for inner, value in read.items()}
        elif entry != "_self_":
            settings[f"defaults: {entry}"] = Unknown("")
    own = flat({name: inner for name, inner in tree.items() if name != "defaults"})
    replaced = tuple(f"{name}." for name in own)
    return {name: value for name, value in settings.items() if not name.startswith(replaced)} | own


def _interpolated(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what OmegaConf makes of ${...}; where it makes nothing of one, that is unknown."""
    templates = {name: value for name, value in settings.items() if isinstance(value, str) and "${" in value}
    if not templates:
        return dict(settings)
    omegaconf = optional_library("omegaconf").OmegaConf
    nested = omegaconf.create({}, flags={"allow_objects": True})
    for name, value in settings.items():
        with suppress(Exception):  # A grammar that is not OmegaConf's: its values are unknown.
            omegaconf.update(nested, name, value)
    interpolated = {**settings, **{name: Unknown(value) for name, value in templates.items()}}
    for name, value in templates.items():
        if "oc.env" not in value:  # This machine's environment is not the run's.
            with suppress(Exception):  # Whatever a resolver raises.
                interpolated[name] = omegaconf.select(nested, name, throw_on_missing=True)
    return flat(interpolated)


def _python(text: str, path: Path) -> Iterator[ConfiguredRun]:
    """Each call of an imported class of settings, with its literal and constant arguments."""
    nodes = [*ast.walk(ast.parse(text, str(path)))]
    imported: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                source = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                name = (
                    alias.asname or (source if isinstance(node, ast.Import) else alias.name).partition(".")[0]
                )
                source = source if alias.asname or isinstance(node, ast.ImportFrom) else name
                imported[name] = source if imported.get(name, source) == source else f"{name} of two modules"
    constants = _constants(nodes)
    for node in nodes:
        name = _full_name(node.func, imported) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name.endswith(("Config", "Arguments")):
            settings: dict[str, Any] = {}
            for keyword in node.keywords:
                value = _constant(keyword.value, constants) if keyword.arg else Unknown("")
                settings[keyword.arg or f"**{ast.unparse(keyword.value)}"] = value
            settings |= _other_settings(nodes, node, imported, name.partition(".")[0])
            marks = (f"{name}()", *sorted(imported.values()))
            yield ConfiguredRun(f"the call of {name} in line {node.lineno}", marks, settings)


def _full_name(node: ast.expr, imported: Mapping[str, str]) -> str:
    """The name with its module, "" of what is not imported."""
    first, dot, rest = ast.unparse(node).partition(".")
    return f"{imported[first]}{dot}{rest}" if first in imported else ""


def _constants(nodes: Sequence[ast.AST]) -> dict[str, Any]:
    """The names that a file binds once, unconditionally, to a literal."""
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound = Counter(node.id for node in names)
    bound.update(node.arg for node in nodes if isinstance(node, ast.arg))
    constants = {}
    for node in nodes:
        for line in node.body if isinstance(node, ast.Module | ast.FunctionDef) else []:
            match line:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    if line.value is not None and bound[name] == 1:
                        constants[name] = _constant(line.value, {})
    return constants


def _constant(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """What a literal or a constant's name stands for; of all else that it is not known."""
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    with suppress(ValueError, TypeError):
        return ast.literal_eval(node)
    return Unknown(ast.unparse(node))


def _other_settings(
    nodes: Sequence[ast.AST], call: ast.Call, imported: Mapping[str, str], package: str
) -> dict[str, Unknown]:
    """What a file changes after a call, and trainers of another package or derived from one, as unknown."""
    own = (package, "transformers")
    trainers = (name for name in imported.values() if name.endswith("Trainer"))
    unknown = {name: Unknown("") for name in trainers if name.partition(".")[0] not in own}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=configuration)], value=value) if value is call:
                for later in nodes:
                    match later:
                        case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                            if name == configuration:
                                unknown[attribute] = Unknown(f"what line {later.lineno} assigns")
                        case ast.Call(func=changing, args=[ast.Name(id=name), *_]) if name == configuration:
                            if ast.unparse(changing).endswith(("replace", "setattr")):
                                unknown[ast.unparse(later)] = Unknown("")
            case ast.ClassDef(name=name, bases=[base, *_]) if _full_name(base, imported).endswith("Trainer"):
                unknown[f"class {name}({ast.unparse(base)})"] = Unknown("")
    return unknown


_BLOCKS = dict.fromkeys(("if", "for", "while", "until", "case", "select", "{"), 1)
_BLOCKS |= dict.fromkeys(("fi", "done", "esac", "}"), -1)
_BLOCKS |= dict.fromkeys(("then", "do", "else", "elif", "!"), 0)
"""The words that open and close what may not run, and those before a command."""
_BINDING = ("for", "select", "read", "unset", "getopts", "mapfile", "readarray", "let", "printf")
_DECLARING = ("export", "declare", "local", "readonly", "typeset")
_ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)", re.S)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}]*))?\})")
_DEFAULT = re.compile("\1(.*?)\1")
_BEFORE = {
    r"(?ms)(<<-?\s*['\"\\]?(\w+)['\"]?[^\n]*\n).*?^\s*\2[ \t]*$": r"\1",  # The lines of a here-document.
    r"(?m)^((?:[^'\"\n#]|'[^'\n]*'|\"[^\"\n]*\"|(?<=\S)#)*)(?<!\S)#.*$": r"\1",
    r"\\\n": " ",
    r"\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`": "${...}",  # What another command prints.
    r"(?<=\s)(?:\d*|&)[<>]+[&-]*[ \t]*[^\s;|&()]*": "",
}
"""What is replaced in a script before its words are split."""


def _commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """A script's commands in words, and whether each follows && or ||."""
    for pattern, replacement in _BEFORE.items():
        text = re.sub(pattern, replacement, text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words, before, sometimes, sometimes_before = list[str](), list[str](), False, False
    for token in [*lexer, "\n"]:
        if not token or token.strip(";|&()\n"):
            words.append(token)
            continue
        if token.startswith("(") and words and words[-1].endswith("="):
            before, words, sometimes_before = [*words[:-1], f"{words[-1]}("], [], sometimes
            continue
        if ")" in token and before:
            words, before, sometimes = [*before[:-1], "\2".join([before[-1], *words])], [], sometimes_before
        if words and not before:
            yield words, sometimes
            words = []
        sometimes = "&&" in token or "||" in token


def _assigned(words: Sequence[str]) -> list[tuple[str, str]]:
    """The names that a command binds and what is written for their values, "(" for what is no literal."""
    if words[:1] and words[0] in _BINDING:
        return [(word.partition("=")[0], "(") for word in words[1:]]
    pairs = [match for word in words if (match := _ASSIGNMENT.fullmatch(word))]
    if words[:1] and words[0] not in _DECLARING and len(pairs) < len(words):
        return []  # Before a command it is of that command alone.
    return [(match[1], "(" if match[2] else match[3]) for match in pairs]


def _script(text: str, path: Path) -> Iterator[ConfiguredRun]:
    """Each command of a script, with its arguments that are literal, or a variable that is one."""
    commands, written = list[tuple[list[str], bool]](), dict[str, list[str]]()
    depth = 0
    for words, sometimes in _commands(text):
        while words and words[0] in _BLOCKS and words[0] not in _BINDING:
            depth, words = depth + _BLOCKS[words[0]], words[1:]
        depth += words[:1] in (["for"], ["select"])
        commands.append((words, sometimes or depth > 0))
        for name, value in _assigned(words):
            written.setdefault(name, []).append(value)
    values, arrays = dict[str, str](), dict[str, list[str]]()
    for words, sometimes in commands:
        for name, value in _assigned(words):
            literal = written[name] == [value] and not sometimes
            text = _expanded(value, values) if literal and "(" not in value else "\0"
            values[name] = f"\0${name}" if "\0" in text else text
            if literal and value.startswith("(\2"):
                inside = [_word(word, values, written) for word in value.split("\2")[1:]]
                arrays |= {f"${{{name}[@]}}": inside, f"${{{name}[*]}}": inside}
        if words[:1] in (["source"], ["."], ["eval"]):
            values, arrays = {name: f"\0${name}" for name in values}, {}
        first = next((i for i, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
        parts = [arrays.get(word, [_word(word, values, written)]) for word in words[first:]]
        program, options = _program([*chain.from_iterable(parts)])
        if program:
            defaults = dict.fromkeys(name for word in options for name in _DEFAULT.findall(word))
            where = f"the command of {program}" + f", without ${', $'.join(defaults)}" * bool(defaults)
            stated = [_DEFAULT.sub("", word) for word in options if word != "\1@\1"]
            yield ConfiguredRun(where, (program,), arguments(stated))


def _expanded(word: str, values: Mapping[str, str]) -> str:
    """A word with its variables' values: byte 0 before what is not known, bytes 1 around a default's name."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[2], match[3]
        if name not in values and default is not None:
            return f"\1{name}\1{default}"
        return values.get(name, f"\0{match[0]}")

    text = _VARIABLE.sub(value, word)
    return text if "\0" in text else text.replace("$", "\0$")


def _word(word: str, values: Mapping[str, str], written: Mapping[str, Sequence[str]]) -> str:
    """A word as it is known; two zero bytes stand before what may be several, or none."""
    if re.fullmatch(r"\$(?:[@*]|\{[@*](?::\d+)?\})", word):
        return "\1@\1"
    text, variable = _expanded(word, values), _VARIABLE.fullmatch(word)
    texts = written.get(variable[1] or variable[2], ()) if variable else ()
    several = any(not value or re.search(r"^-|\s|\(", value) for value in texts)
    return f"\0\0{text}" if several or (word.startswith("$") and not variable) else text


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program that a command starts, under whatever launcher, and what follows it."""
    words = words[words.index("--") + 1 :] if "--" in words else words
    for place, word in enumerate(words[:-1]):
        if word == "-m" and not words[place + 1].startswith(("torch.", "accelerate.")):
            return words[place + 1], words[place + 2 :]
        if word.endswith(".py"):
            return word, words[place + 1 :]
    first = next((i for i, word in enumerate(words) if word.startswith("-") or "=" in word), len(words))
    return " ".join(words[:first][-2:]), words[first:]


def arguments(words: Sequence[str]) -> dict[str, Any]:
    """A program's arguments: name=value, --name=value, --name value and --name alone."""
    settings: dict[str, Any] = {}
    place = 0
    while place < len(words):
        word, place = words[place], place + 1
        name, equals, value = word.partition("=")
        bare = name.lstrip("+-")
        bare = bare.replace("-", "_") if "." in bare else bare
        if word.startswith("~"):
            settings = overridden([word], settings)
        elif equals and re.fullmatch(r"[\w.@/:-]+", bare):
            settings[bare] = scalar(value)
        elif word.startswith("--") and bare:
            values = []
            while place < len(words) and not re.match(r"--|\0\0|\+?[\w.]+=|-[a-z]$", words[place]):
                values.append(words[place])
                place += 1
            settings[bare] = scalar(" ".join(values)) if values else True
        elif word.strip():
            settings[word.replace("\0", "")] = Unknown("")
    return settings
