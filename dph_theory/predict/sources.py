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
from pathlib import Path
from typing import Any

from ..support.errors import argument_error


@dataclass(frozen=True)
class Unknown:
    """What stands in a file for a value that the file does not have."""

    text: str

    def __str__(self) -> str:
        return self.text


class Loose(Unknown):
    """What follows a word of a command line that is no setting, unless a reader asks for one of its name."""


@dataclass(frozen=True)
class Run:
    """One run: where it stands, programs, modules and calls that show a trainer, its settings, and notes."""

    where: str
    marks: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The settings as NAME=VALUE."""
        held = self.settings.items()
        return [f"{name}={value}" for name, value in held if not isinstance(value, Loose)]


def runs(path: Path, overrides: Sequence[str] = ()) -> list[Run]:
    """The runs of a file, each with the overrides; ValueError for a file that holds none."""
    text = path.read_text(encoding="utf-8-sig")
    of_suffix = {".py": _python, **dict.fromkeys((".json", ".toml", ".yaml", ".yml"), _tree)}
    try:
        found = [run for run in of_suffix.get(path.suffix, _script)(text, path) if run.settings]
    except RecursionError as error:
        raise argument_error("config", str(path), "a file that does not hold itself") from error
    if not found:
        raise argument_error("config", str(path), "a file that holds settings")
    return [replace(run, settings=_interpolated(given(overrides, run.settings))) for run in found]


def given(words: Sequence[str], settings: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Settings with those given as NAME=VALUE, hydra's + and ++ before, or ~NAME to take one out."""
    found = dict(settings)
    for word in words:
        name, equals, value = word.lstrip("+").partition("=")
        if name.startswith("~"):
            out = [each for each in found if f"{each}.".startswith(f"{name[1:]}.")]
            for each in out:
                del found[each]
        elif equals and name.strip("-"):
            name = name.lstrip("-")
            found[name.replace("-", "_") if "." in name else name] = scalar(value)
        else:
            raise argument_error("setting", word, "NAME=VALUE, such as beta=0.04")
    return found


def flat(value: Mapping[Any, Any], before: str = "") -> dict[str, Any]:
    """Nested settings, their names joined by dots."""
    found: dict[str, Any] = {}
    for name, inner in value.items():
        nested = isinstance(inner, Mapping) and inner
        found |= flat(inner, f"{before}{name}.") if nested else {f"{before}{name}": inner}
    return found


def scalar(text: str) -> Any:
    """A word as a value; one of a shell that is set outside the script is unknown."""
    if "\0" in text:
        return Unknown(text.replace("\0", ""))
    for number in (int, float):  # A whole number is told as it was typed.
        with suppress(ValueError):
            return number(text)
    return {"true": True, "false": False, "null": None}.get(text.lower(), text.strip("'\""))


def needed(module: str) -> Any:
    """A library of the extra "predict"."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"to read this needs {module}: pip install 'dph[predict]'") from error


# Trees.


def _tree(text: str, path: Path) -> Iterator[Run]:
    if path.suffix == ".json":
        trees = [json.loads(text)]
    elif path.suffix == ".toml":
        trees = [tomllib.loads(text)]
    else:
        yaml = needed("yaml")
        try:
            trees = [each for each in yaml.safe_load_all(text) if each is not None]
        except yaml.YAMLError as error:
            raise ValueError(f"no YAML: {error}") from error
    if not trees or not all(isinstance(tree, dict) for tree in trees):
        raise argument_error("config", str(path), "a file of settings, name by name")
    for number, tree in enumerate(trees):
        where = "the file" if len(trees) == 1 else f"document {number + 1}"
        yield Run(where, (), *_with_defaults(tree, path))


def _with_defaults(tree: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A tree's settings over those of files named under its `defaults`, and what was not read."""
    base, notes, under = tree.get("defaults"), list[str](), dict[str, Any]()
    for name in [base] if isinstance(base, str) else base if isinstance(base, list) else []:
        beside = path.parent / str(name)
        beside = beside if beside.suffix else beside.with_suffix(path.suffix)
        if beside.is_file() and beside != path:
            under |= next(_tree(beside.read_text(encoding="utf-8-sig"), beside)).settings
        elif name != "_self_":
            notes.append(f"the settings of {name} (defaults) are not read: it is not beside the file")
    return under | flat({name: inner for name, inner in tree.items() if name != "defaults"}), tuple(notes)


_RESOLVERS = {
    "mul": lambda *of: math.prod(of),
    "add": lambda *of: sum(of),
    "sub": operator.sub,
    "div": operator.truediv,
    "max": lambda *of: max(of),
    "min": lambda *of: min(of),
}
"""Those that NeMo-RL and verl's recipes register; OmegaConf has its own besides."""


def _interpolated(found: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what OmegaConf makes of ${...}; where it makes nothing of one, that is unknown."""
    open_ = [name for name, value in found.items() if isinstance(value, str) and "${" in value]
    if not open_:
        return dict(found)
    conf = needed("omegaconf").OmegaConf
    for name, does in _RESOLVERS.items():
        conf.register_resolver(name, does, replace=True)
    told, nested = dict(found), dict[str, Any]()
    for name, value in found.items():
        *above, last = name.split(".")
        inner = nested
        for part in above:
            inner = inner.setdefault(part, {}) if isinstance(inner, dict) else {}
        if isinstance(inner, dict):
            inner[last] = value
    with suppress(Exception):  # A grammar that is not OmegaConf's: nothing is told of its values.
        nested = conf.create(nested, flags={"allow_objects": True})
    for name in open_:
        told[name] = Unknown(found[name])
        with suppress(Exception):  # Whatever a resolver raises.
            told[name] = conf.select(nested, name, throw_on_missing=True)
    return told


# Python.

_OF = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_OF |= {ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.Mod: operator.mod}


class _Walk:
    """What a file's names stand for, in the order of its lines."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def run(self, node: Any) -> None:
        raise NotImplementedError

    def body(self, nodes: Sequence[Any]) -> None:
        for each in nodes:
            self.run(each)

    def branches(self, blocks: Sequence[Sequence[Any]]) -> None:
        """Each block from the same start; a name that they leave different is unknown after."""
        before, ends = dict(self.names), []
        for block in blocks:
            self.names = dict(before)
            self.body(block)
            ends.append(self.names)
        self.names = {}
        for name in {name for end in ends for name in end}:
            values = [end[name] for end in ends if name in end]
            same = all(value == values[0] for value in values)
            self.names[name] = values[0] if same else Unknown(f"${name}")


class _Python(_Walk):
    """A file's constants and configurations."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}
        self.found: list[dict[str, Any]] = []
        self.classes: dict[str, tuple[str, dict[str, Any]]] = {}

    def run(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=names):
                self.modules |= {each.asname or each.name.partition(".")[0]: each.name for each in names}
            case ast.ImportFrom(module=module, names=names):
                self.modules |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
            case ast.ClassDef(bases=[base, *_]) if self.called(base).endswith("Config"):
                words = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value]
                held = {ast.unparse(each.target): self.value(each.value) for each in words if each.value}
                self.classes[node.name] = (self.called(base), held)
                self.found.append({"": (node.lineno, self.called(base)), **held})
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                self.assign(target, self.value(value))
            case ast.With(body=body):
                self.body(body)
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                before = dict(self.names)
                self.body(body)
                self.names = before
            case (
                ast.If(body=body, orelse=other)
                | ast.For(body=body, orelse=other)
                | ast.While(body=body, orelse=other)
            ):
                self.branches([body, other])
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self.branches([[*body, *other], *(each.body for each in handlers)])
                self.body(last)
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
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OF:
                with suppress(TypeError, ZeroDivisionError, OverflowError):
                    return _OF[type(op)](self.value(left), self.value(right))
            case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
                pairs = zip(keys, values, strict=True)
                return {key.value: self.value(of) for key, of in pairs if isinstance(key, ast.Constant)}
            case ast.Call(func=func, args=args, keywords=words):
                made = {word.arg or f"**{ast.unparse(word.value)}": self.value(word.value) for word in words}
                for each in args:
                    self.value(each)  # A call in a call is met as well.
                name, held = self.classes.get(ast.unparse(func), (self.called(func), {}))
                if name == "dict" or name.endswith("Config"):
                    for star in [of for of in made if of.startswith("**") and isinstance(made[of], dict)]:
                        made = {**made.pop(star), **made}
                    made = {**held, **made} | ({} if name == "dict" else {"": (node.lineno, name)})
                    if name != "dict":
                        self.found.append(made)
                    return made
        with suppress(ValueError, TypeError):
            return ast.literal_eval(node)
        return Unknown(ast.unparse(node))


def _python(text: str, path: Path) -> Iterator[Run]:
    code = _Python()
    code.body(ast.parse(text, str(path)).body)
    for settings in code.found:
        line, name = settings.pop("")
        marks = (f"{name}()", *sorted(set(code.modules.values())))
        yield Run(f"line {line}: {name}", marks, settings or {"output_dir": None})


# Shells.


class _Shell(_Walk):
    """A script's variables and commands."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Run] = []

    def text(self, text: str) -> None:
        bash, sitter = needed("tree_sitter_bash"), needed("tree_sitter")
        self.run(sitter.Parser(sitter.Language(bash.language())).parse(text.encode()).root_node)

    def run(self, node: Any) -> None:
        getattr(self, f"on_{node.type}", lambda of: self.body(of.named_children))(node)

    def on_if_statement(self, node: Any) -> None:
        """Without an else none of the branches may run, nor may what follows && or ||."""
        heads = ("elif_clause", "else_clause", "case_item")
        starts = [i for i, child in enumerate(node.named_children) if child.type in heads]
        starts = [0, *starts] if node.type == "if_statement" else starts or [1]
        ends = [*starts[1:], len(node.named_children)]
        self.body(node.named_children[: starts[0]])
        blocks = [node.named_children[i:j] for i, j in zip(starts, ends, strict=True)]
        self.branches(blocks if len(blocks) > 1 else [[], *blocks])

    on_case_statement = on_while_statement = on_for_statement = on_list = on_if_statement

    def on_variable_assignment(self, node: Any) -> None:
        name, *value = node.named_children
        words = [word for each in value for word in self.words(each)]
        array = bool(value) and value[0].type == "array"
        if any(child.type == "+=" for child in node.children):
            old = self.names.get(name.text.decode(), [] if array else "")
            words = (
                [*(old if isinstance(old, list) else [old]), *words] if array else [f"{old}{' '.join(words)}"]
            )
        self.names[name.text.decode()] = words if array else " ".join(words)

    def on_command(self, node: Any) -> None:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self.run(child)
        kinds = ("variable_assignment", "file_redirect", "herestring_redirect")
        words = [
            word for child in node.named_children if child.type not in kinds for word in self.words(child)
        ]
        if not words:
            return
        if words[0] in ("eval", "bash", "sh") and " " in words[-1]:
            self.text(words[-1].replace("\0", ""))
        else:
            marks, settings = arguments(words)
            line = node.start_point[0] + 1
            if self.found and re.match(r"\+*\w+(\.\w+)+=", words[0]):
                said = f"line {line}: settings after the end of the command are read as if they were its own"
                last = self.found.pop()
                settings = {**last.settings, **settings}
                self.found.append(replace(last, settings=settings, notes=(*last.notes, said)))
                return
            self.found.append(Run(f"line {line}: {' '.join(words[:4])}".replace("\0", ""), marks, settings))

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
                return [re.sub(r"\\([\"$`\\\n])", lambda of: of[1].strip("\n"), text)]
            case "simple_expansion" | "expansion":
                return self.expanded(node, text, quoted)
            case "arithmetic_expansion":
                return [self.sum(text[3:-2])]
            case "comment":
                return []
        return [f"\0{text}" if "$" in text or "`" in text else text]

    def expanded(self, node: Any, text: str, quoted: bool) -> list[str]:
        """What a variable stands for, or what is told in its stead."""
        shape = re.fullmatch(r"\$\{?(\w+|[@*#?])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?\}?", text, re.DOTALL)
        if shape is None:
            return [f"\0{text}"]
        name, does, _ = shape.groups()
        value = self.names.get(name)
        if does and does.strip(":") in "-=" and value in (None, ""):
            at = next(i for i, child in enumerate(node.children) if child.type == does)
            parts = [self.words(child, True) for child in node.children[at + 1 : -1]]
            value = "".join(" ".join(part) for part in parts)
            if does.strip(":") == "=":
                self.names[name] = value
        elif does and does.strip(":") not in "-=?":
            return [f"\0{text}"]
        if isinstance(value, list):
            return value
        if value is None:
            return [f"\0{text}"] if name not in "@*" else []
        value = f"\0{value}" if isinstance(value, Unknown) else value
        return [value] if quoted or "\0" in value else value.split()

    def sum(self, text: str) -> str:
        """Arithmetic, where every variable is told."""

        def told(of: re.Match[str]) -> str:
            value = self.names.get(of[1]) or of[2] or of[1]
            return f"({value})" if isinstance(value, str) else of[1]

        tree = re.sub(r"\$?\{?\b([A-Za-z_]\w*)(?::-(\w+))?\}?", told, text).strip().replace("/", "//")
        with suppress(Exception):  # Whatever is no sum of numbers.
            return str(int(_Python().value(ast.parse(tree, mode="eval").body)))
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
            settings[bare] = (
                True if not values else scalar(values[0] if len(values) == 1 else " ".join(values))
            )
        elif not word.startswith(("-", "\0")):
            marks.append(word)
            if word.isidentifier() and place < len(words) and isinstance(scalar(words[place]), int | float):
                settings.setdefault(word, Loose(f"{words[place]}, without ="))
    pairs = [" ".join(marks[at : at + 2]) for at in range(len(marks) - 1)]
    return (*marks, *pairs), settings


def _script(text: str, path: Path) -> Iterator[Run]:
    shell = _Shell()
    shell.text(text.replace("\r\n", "\n"))
    yield from (_with_file(run, path) for run in shell.found if run.settings)
    if not any(run.settings for run in shell.found):  # No command: what stands there are settings.
        words = [f"{name}={value}" for name, value in shell.names.items() if isinstance(value, str)]
        yield Run("the file", (), arguments(words)[1])


def _with_file(run: Run, path: Path) -> Run:
    """The run with the settings of the file that its command names (--config FILE, @ FILE) under its own."""
    after = run.marks.index("@") + 1 if "@" in run.marks[:-1] else len(run.marks)
    name = next((str(run.settings[of]) for of in ("config", "config_path") if of in run.settings), "")
    name = name or "".join(run.marks[after : after + 1])
    if Path(name).suffix not in (".yaml", ".yml", ".toml", ".json"):
        return run
    places = [folder / name for folder in (Path(), *path.resolve().parents)]
    for place in (each for each in places if each.is_file()):
        under = next(_tree(place.read_text(encoding="utf-8-sig"), place))
        return replace(run, settings={**under.settings, **run.settings}, notes=(*run.notes, *under.notes))
    return replace(
        run, notes=(*run.notes, f"the settings of {name} are not read: there is no such file here")
    )


def met(patterns: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Those of the texts that one of the patterns meets."""
    return [text for text in texts if any(fnmatchcase(text, each) for each in patterns)]
