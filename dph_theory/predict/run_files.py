"""From a file to the runs that it starts: trees of settings, Python, and scripts of a shell."""

import ast
import importlib
import json
import math
import operator
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..support.errors import argument_error


@dataclass(frozen=True)
class Unknown:
    """What stands in a file for a value that the file does not have."""

    text: str

    def __str__(self) -> str:
        return self.text


class UnassignedValue(Unknown):
    """What follows a word of a command line that is no setting, unless a reader asks for one of its name."""


@dataclass(frozen=True)
class ConfiguredRun:
    """One run: where it stands, programs, modules and calls that show a trainer, its settings, and notes."""

    where: str
    marks: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The settings as NAME=VALUE."""
        settings = self.settings.items()
        return [f"{name}={value}" for name, value in settings if not isinstance(value, UnassignedValue)]


def runs(path: Path, overrides: Sequence[str] = ()) -> list[ConfiguredRun]:
    """The runs of a file, each with the overrides; ValueError for a file that holds none."""
    text = path.read_text(encoding="utf-8-sig")
    readers = {".py": _python, **dict.fromkeys((".json", ".toml", ".yaml", ".yml"), _tree)}
    try:
        started = [run for run in readers.get(path.suffix, _script)(text, path) if run.settings]
    except RecursionError as error:
        raise argument_error("config", str(path), "a file that does not hold itself") from error
    if not started:
        raise argument_error("config", str(path), "a file that holds settings")
    return [replace(run, settings=_interpolated(overridden(overrides, run.settings))) for run in started]


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


def flat(value: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings, their names joined by dots."""
    settings: dict[str, Any] = {}
    for name, inner in value.items():
        nested = isinstance(inner, Mapping) and inner
        settings |= flat(inner, f"{prefix}{name}.") if nested else {f"{prefix}{name}": inner}
    return settings


def scalar(text: str) -> Any:
    """A word as a value; one of a shell that is set outside the script is unknown."""
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
        raise ValueError(f"to read this needs {module}: pip install 'dph[predict]'") from error


def _tree(text: str, path: Path) -> Iterator[ConfiguredRun]:
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
        where = "the file" if len(trees) == 1 else f"document {number + 1}"
        yield ConfiguredRun(where, (), *_with_defaults(tree, path))


def _with_defaults(tree: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A tree's settings over those of files named under its `defaults`, and what was not read."""
    defaults, notes, inherited = tree.get("defaults"), list[str](), dict[str, Any]()
    names = [defaults] if isinstance(defaults, str) else defaults
    for name in names if isinstance(names, list) else []:
        default_file = path.parent / str(name)
        default_file = default_file if default_file.suffix else default_file.with_suffix(path.suffix)
        if default_file.is_file() and default_file != path:
            inherited |= next(_tree(default_file.read_text(encoding="utf-8-sig"), default_file)).settings
        elif name != "_self_":
            notes.append(f"the settings of {name} (defaults) are not read: it is not beside the file")
    return inherited | flat({name: inner for name, inner in tree.items() if name != "defaults"}), tuple(notes)


_RESOLVERS = {"mul": lambda *factors: math.prod(factors), "add": lambda *terms: sum(terms)}
_RESOLVERS |= {"max": lambda *numbers: max(numbers), "min": lambda *numbers: min(numbers)}
_RESOLVERS |= {"sub": operator.sub, "div": operator.truediv}
"""Those that NeMo-RL and verl's recipes register; OmegaConf has its own besides."""


def _interpolated(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what OmegaConf makes of ${...}; where it makes nothing of one, that is unknown."""
    templates = [name for name, value in settings.items() if isinstance(value, str) and "${" in value]
    if not templates:
        return dict(settings)
    omegaconf = optional_library("omegaconf").OmegaConf
    for name, resolver in _RESOLVERS.items():
        omegaconf.register_resolver(name, resolver, replace=True)
    interpolated, nested = dict(settings), dict[str, Any]()
    for name, value in settings.items():
        *sections, key = name.split(".")
        section = nested
        for part in sections:
            section = section.setdefault(part, {}) if isinstance(section, dict) else {}
        if isinstance(section, dict):
            section[key] = value
    with suppress(Exception):  # A grammar that is not OmegaConf's: its values are unknown.
        nested = omegaconf.create(nested, flags={"allow_objects": True})
    for name in templates:
        interpolated[name] = Unknown(settings[name])
        with suppress(Exception):  # Whatever a resolver raises.
            interpolated[name] = omegaconf.select(nested, name, throw_on_missing=True)
    return interpolated


_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OPERATIONS |= {ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.Mod: operator.mod}


class _Walk:
    """What a file's names stand for, and what it starts, in the order of its lines."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.started: list[Any] = []

    def visit(self, node: Any) -> None:
        raise NotImplementedError

    def visit_all(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            self.visit(node)

    def branches(self, blocks: Sequence[Sequence[Any]]) -> None:
        """Each block from the same start; a name that they leave different is unknown after."""
        before, ends = dict(self.names), list[dict[str, Any]]()
        for block in blocks:
            self.names = dict(before)
            self.visit_all(block)
            ends.append(self.names)
        self.names = {}
        for name in dict.fromkeys(name for end in ends for name in end):
            values = [end[name] for end in ends if name in end]
            same = all(value == values[0] for value in values)
            self.names[name] = values[0] if same else Unknown(f"${name}")


class _Python(_Walk):
    """A file's constants and configurations."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}
        self.classes: dict[str, tuple[str, dict[str, Any]]] = {}

    def visit(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=names):
                self.modules |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names):
                self.modules |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
            case ast.ClassDef(bases=[base, *_]) if self.called(base).endswith("Config"):
                lines = [line for line in node.body if isinstance(line, ast.AnnAssign)]
                defaults = {ast.unparse(line.target): self.value(line.value) for line in lines if line.value}
                self.classes[node.name] = (self.called(base), defaults)
                self.started.append({"": (node.lineno, self.called(base)), **defaults})
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) if node.value is not None:
                self.assign(target, self.value(node.value))
            case ast.With(body=body):
                self.visit_all(body)
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                before = dict(self.names)
                self.visit_all(body)
                self.names = before
            case ast.If() | ast.For() | ast.While():
                self.branches([node.body, node.orelse])
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self.branches([[*body, *other], *(child.body for child in handlers)])
                self.visit_all(last)
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self.value(value)

    def assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(self.names.get(name), dict):
                self.names[name][attr] = value  # A later assignment to a configuration.

    def called(self, node: ast.expr) -> str:
        """The name of what is called, with the module that it is from."""
        first, dot, rest = ast.unparse(node).partition(".")
        return f"{self.modules.get(first, first)}{dot}{rest}"

    def value(self, node: ast.expr) -> Any:
        """What an expression stands for, if the file tells it."""
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATIONS:
                with suppress(TypeError, ZeroDivisionError, OverflowError):
                    return _OPERATIONS[type(op)](self.value(left), self.value(right))
            case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
                pairs = zip(keys, values, strict=True)
                return {key.value: self.value(entry) for key, entry in pairs if isinstance(key, ast.Constant)}
            case ast.Call(func=func, args=args, keywords=keywords):
                settings: dict[str, Any] = {}
                for keyword in keywords:
                    value = self.value(keyword.value)
                    if keyword.arg is None and isinstance(value, dict):
                        settings = {**value, **settings}
                    else:
                        settings[keyword.arg or f"**{ast.unparse(keyword.value)}"] = value
                for argument in args:
                    self.value(argument)  # A call in a call is met as well.
                name, defaults = self.classes.get(ast.unparse(func), (self.called(func), {}))
                if name == "dict":
                    return {**defaults, **settings}
                if name.endswith("Config"):
                    settings = {**defaults, **settings, "": (node.lineno, name)}
                    self.started.append(settings)
                    return settings
        with suppress(ValueError, TypeError):
            return ast.literal_eval(node)
        return Unknown(ast.unparse(node))


def _python(text: str, path: Path) -> Iterator[ConfiguredRun]:
    code = _Python()
    code.visit_all(ast.parse(text, str(path)).body)
    for settings in code.started:
        line, name = settings.pop("")
        marks = (f"{name}()", *sorted(set(code.modules.values())))
        yield ConfiguredRun(f"line {line}: {name}", marks, settings or {"output_dir": None})


class _Shell(_Walk):
    """A script's variables and commands."""

    def text(self, text: str) -> None:
        bash, sitter = optional_library("tree_sitter_bash"), optional_library("tree_sitter")
        self.visit(sitter.Parser(sitter.Language(bash.language())).parse(text.encode()).root_node)

    def visit(self, node: Any) -> None:
        visit = getattr(self, f"on_{node.type}", None)
        if visit is None:
            self.visit_all(node.named_children)
        else:
            visit(node)

    def on_if_statement(self, node: Any) -> None:
        """Without an else none of the branches may run, nor may what follows && or ||."""
        heads = ("elif_clause", "else_clause", "case_item")
        starts = [i for i, child in enumerate(node.named_children) if child.type in heads]
        starts = [0, *starts] if node.type == "if_statement" else starts
        starts = starts or [1]
        ends = [*starts[1:], len(node.named_children)]
        self.visit_all(node.named_children[: starts[0]])
        blocks = [node.named_children[i:j] for i, j in zip(starts, ends, strict=True)]
        self.branches(blocks if len(blocks) > 1 else [[], *blocks])

    on_case_statement = on_while_statement = on_for_statement = on_list = on_if_statement

    def on_variable_assignment(self, node: Any) -> None:
        variable, *parts = node.named_children
        name, array = variable.text.decode(), bool(parts) and parts[0].type == "array"
        words = [word for part in parts for word in self.words(part)]
        if any(child.type == "+=" for child in node.children):
            previous = self.names.get(name, [] if array else "")
            if array:
                words = [*(previous if isinstance(previous, list) else [previous]), *words]
            else:
                words = [f"{previous}{' '.join(words)}"]
        self.names[name] = words if array else " ".join(words)

    def on_command(self, node: Any) -> None:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self.visit(child)
        kinds = ("variable_assignment", "file_redirect", "herestring_redirect")
        parts = [child for child in node.named_children if child.type not in kinds]
        words = [word for part in parts for word in self.words(part)]
        if not words:
            return
        if words[0] in ("eval", "bash", "sh") and " " in words[-1]:
            self.text(words[-1].replace("\0", ""))
            return
        marks, settings = arguments(words)
        line = f"line {node.start_point[0] + 1}"
        if self.started and re.match(r"\+*\w+(\.\w+)+=", words[0]):
            note = f"{line}: settings after the end of the command are read as if they were its own"
            previous = self.started.pop()
            settings = {**previous.settings, **settings}
            self.started.append(replace(previous, settings=settings, notes=(*previous.notes, note)))
        else:
            where = f"{line}: {' '.join(words[:4])}".replace("\0", "")
            self.started.append(ConfiguredRun(where, marks, settings))

    def words(self, node: Any, quoted: bool = False) -> list[str]:
        """The words that a part of a command becomes; a zero stands before what the script does not tell."""
        text = node.text.decode()
        match node.type:
            case "word" | "variable_name" | "test_operator" | "number":
                return [re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)] if text != "\\\n" else []
            case "raw_string" | "ansi_c_string":
                return [text.lstrip("$")[1:-1]]
            case "array" | "command_name":
                return [word for child in node.named_children for word in self.words(child)]
            case "string" | "concatenation" | "translated_string":
                inner = quoted or node.type == "string"
                parts = [self.words(child, inner) for child in node.named_children]
                if len(parts) == 1 and len(parts[0]) > 1:
                    return parts[0]
                return ["".join(" ".join(part) for part in parts)]
            case "string_content":
                return [re.sub(r"\\([\"$`\\\n])", lambda match: match[1].strip("\n"), text)]
            case "simple_expansion" | "expansion":
                return self.expanded(node, text, quoted)
            case "arithmetic_expansion":
                return [self.arithmetic(text[3:-2])]
            case "comment":
                return []
        return [f"\0{text}" if "$" in text or "`" in text else text]

    def expanded(self, node: Any, text: str, quoted: bool) -> list[str]:
        """What a variable stands for, or what does in its stead."""
        shape = re.fullmatch(r"\$\{?(\w+|[@*#?])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?\}?", text, re.DOTALL)
        if shape is None:
            return [f"\0{text}"]
        name, modifier, _ = shape.groups()
        value = self.names.get(name)
        if modifier and modifier.strip(":") in "-=" and value in (None, ""):
            start = next(i for i, child in enumerate(node.children) if child.type == modifier)
            parts = [self.words(child, True) for child in node.children[start + 1 : -1]]
            value = "".join(" ".join(part) for part in parts)
            if modifier.strip(":") == "=":
                self.names[name] = value
        elif modifier and modifier.strip(":") not in "-=?":
            return [f"\0{text}"]
        if isinstance(value, list):
            return value
        if value is None:
            return [f"\0{text}"] if name not in "@*" else []
        value = f"\0{value}" if isinstance(value, Unknown) else value
        return [value] if quoted or "\0" in value else value.split()

    def arithmetic(self, text: str) -> str:
        """Arithmetic, where every variable is known."""

        def with_value(match: re.Match[str]) -> str:
            value = self.names.get(match[1]) or match[2] or match[1]
            return f"({value})" if isinstance(value, str) else match[1]

        expression = re.sub(r"\$?\{?\b([A-Za-z_]\w*)(?::-(\w+))?\}?", with_value, text).strip()
        with suppress(Exception):  # Whatever is no sum of numbers.
            return str(int(_Python().value(ast.parse(expression.replace("/", "//"), mode="eval").body)))
        return f"\0$(({text}))"


def arguments(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What a command calls, and its settings: name=value, --name=value, --name value and --name alone."""
    marks, settings = list[str](), dict[str, Any]()
    place = 0
    while place < len(words):
        word, place = words[place], place + 1
        name, equals, value = word.partition("=")
        bare = name.lstrip("+-~")
        bare = bare.replace("-", "_") if "." in bare else bare
        if word.startswith("~"):
            settings.pop(bare, None)
        elif equals and re.fullmatch(r"[\w.@/:-]+", bare):
            settings[bare] = scalar(value)
        elif word.startswith("--") and bare:
            values = []
            while place < len(words) and not re.match(r"--|\+?[\w.]+=|-[a-z]$", words[place]):
                values.append(words[place])
                place += 1
            settings[bare] = scalar(" ".join(values)) if values else True
        elif not word.startswith(("-", "\0")):
            marks.append(word)
            if word.isidentifier() and place < len(words) and isinstance(scalar(words[place]), int | float):
                settings.setdefault(word, UnassignedValue(f"{words[place]}, without ="))
    pairs = [" ".join(pair) for pair in pairwise(marks)]
    return (*marks, *pairs), settings


def _script(text: str, path: Path) -> Iterator[ConfiguredRun]:
    shell = _Shell()
    shell.text(text.replace("\r\n", "\n"))
    yield from (_with_file(run, path) for run in shell.started if run.settings)
    if not any(run.settings for run in shell.started):  # No command: what stands there are settings.
        words = [f"{name}={value}" for name, value in shell.names.items() if isinstance(value, str)]
        yield ConfiguredRun("the file", (), arguments(words)[1])


def _with_file(run: ConfiguredRun, path: Path) -> ConfiguredRun:
    """The run with the settings of the file that its command names (--config FILE, @ FILE) under its own."""
    after = run.marks.index("@") + 1 if "@" in run.marks[:-1] else len(run.marks)
    name = next((str(run.settings[key]) for key in ("config", "config_path") if key in run.settings), "")
    name = name or "".join(run.marks[after : after + 1])
    if Path(name).suffix not in (".yaml", ".yml", ".toml", ".json"):
        return run
    places = [folder / name for folder in (Path(), *path.resolve().parents)]
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        note = f"the settings of {name} are not read: there is no such file here"
        return replace(run, notes=(*run.notes, note))
    below = next(_tree(place.read_text(encoding="utf-8-sig"), place))
    return replace(run, settings={**below.settings, **run.settings}, notes=(*run.notes, *below.notes))


def matching(patterns: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Those of the texts that one of the patterns meets."""
    return [text for text in texts if any(fnmatchcase(text, pattern) for pattern in patterns)]
