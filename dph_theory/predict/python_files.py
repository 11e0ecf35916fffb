"""Settings in Python and notebooks: arguments of configuration objects, and command lines in texts."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .values import Stated, Unresolved, plain

_CALLS = re.compile(r"\w*(?:Config|Arguments|Trainer)")


@dataclass(frozen=True)
class Code:
    """A file, or a cell of a notebook, as a tree, and the values that the whole file assigns to names."""

    source: str
    tree: ast.Module
    where: str
    assigned: dict[str, list[ast.expr]]

    def settings(self) -> Iterator[tuple[str, Stated]]:
        """Yield (name, value) of keyword arguments as CALL.argument, and of values assigned to attributes."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _CALLS.fullmatch(_name(node.func)):
                for argument in node.keywords:
                    name = argument.arg or f"**{ast.unparse(argument.value)}"
                    value = self.value(argument.value) if argument.arg else Unresolved(name)
                    yield f"{_name(node.func)}.{name}", Stated(value, f"{self.where}{argument.value.lineno}")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                name = ast.unparse(node.targets[0])
                yield name, Stated(self.value(node.value), f"{self.where}{node.lineno}")

    def commands(self) -> Iterator[list[str]]:
        """Yield the lines of each string with command-line options, with the file's line numbers."""
        inside = {id(part) for node in ast.walk(self.tree) if isinstance(node, ast.JoinedStr)
                  for part in ast.walk(node) if part is not node}  # fmt: skip
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside:
                words = "".join(map(self._text, node.values if isinstance(node, ast.JoinedStr) else [node]))
                raw = ast.get_source_segment(self.source, node) or "" if "--" in words else ""  # Slow.
                raw = raw.lstrip("rRuU")
                if raw[:3] in ('"""', "'''"):  # As written, so that lines are counted right.
                    words = raw[3:-3]
                if re.search(r"(?:^|\s)--\w[\w.\-]*\s", words):
                    lines = re.finditer(r"(?:.*\\\n)*.*", words)  # Backslashes join lines.
                    yield ["\n" * (node.lineno - 1 + words.count("\n", 0, one.start())) + one[0]
                           for one in lines if "--" in one[0]]  # fmt: skip

    def _text(self, node: ast.expr) -> str:
        value = self.value(node.value if isinstance(node, ast.FormattedValue) else node)
        if isinstance(node, ast.Constant) and not isinstance(value, str):
            return ""
        return "$(...)" if isinstance(value, Unresolved) else str(value)

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """Literal value of an expression, through names assigned once; otherwise its text as Unresolved."""
        values = {ast.unparse(value): value for value in self.assigned.get(ast.unparse(node), [])}
        if len(values) == 1 and depth < 5:
            return self.value(next(iter(values.values())), depth + 1)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            return Unresolved(ast.unparse(node))


def code_of(text: str, *, notebook: bool) -> list[Code]:
    """Parsed code of a file, or of each cell of a notebook; parts that are not Python are left out."""
    parts, assigned = [("", text)], dict[str, list[ast.expr]]()
    if notebook:
        cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        magic = re.compile(r"(?m)^(\s*)[%!].*$")
        parts = [(f"cell {i}:", magic.sub(r"\1pass", "".join(cell))) for i, cell in enumerate(cells, 1)]
    code = []
    for where, source in parts:
        try:
            code.append(Code(source, ast.parse(source), where, assigned))
        except (SyntaxError, ValueError):
            continue
    for node in (node for part in code for node in ast.walk(part.tree)):
        for name, value in _assignments(node):
            assigned.setdefault(name, []).append(value)
    return code


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, expression) that a statement assigns; argparse defaults as args.NAME."""
    if isinstance(node, ast.Assign):
        yield from ((ast.unparse(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        yield ast.unparse(node.target), node.value
    elif isinstance(node, ast.Call) and _name(node.func) == "add_argument":
        flags = [str(flag.value) for flag in node.args if isinstance(flag, ast.Constant)]
        for default in (keyword.value for keyword in node.keywords if keyword.arg == "default"):
            yield from ((f"args.{plain(flag)}", default) for flag in flags if flag.startswith("--"))
