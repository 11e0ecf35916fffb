"""The trainer's settings with their types and defaults, parsed from the sources of its dataclasses.

Importing TRL's GRPOConfig takes seconds and loads torch; parsing its source takes milliseconds. Recipes are
thus checked against the installed TRL before anything heavy is loaded.
"""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

_TRL = (
    ("transformers", "training_args.py", "TrainingArguments"),
    ("trl", "trainer/base_config.py", "_BaseConfig"),
    ("trl", "trainer/grpo_config.py", "GRPOConfig"),
)
_OURS = (
    ("full_scale", "training/trainer.py", "DPHConfig"),
    ("full_scale", "training/online.py", "OnlineConfig"),
)
_BUILT_IN = {"str", "int", "float", "bool", "list", "dict", "None", "Any"}


def _class_body(package: str, file: str, name: str) -> ast.ClassDef:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    tree = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _default(value: ast.expr | None, body: ast.ClassDef) -> Any:
    """Default value of a dataclass field in source code: a literal, an empty container, or a constant."""
    if isinstance(value, ast.Call):
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        value = given.get("default", given.get("default_factory"))
    if not isinstance(value, ast.Name):
        return None if value is None else ast.literal_eval(value)
    if value.id in ("list", "dict"):
        return [] if value.id == "list" else {}
    assigned = (node for node in ast.walk(body) if isinstance(node, ast.Assign))
    *_, last = (node.value for node in assigned if ast.unparse(node.targets[0]) == value.id)
    return ast.literal_eval(last)


def _kind(annotation: ast.expr) -> str:
    """Type annotation in terms of built-in types, as text: enumerations as str, `Literal[False]` as bool."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            kinds = dict.fromkeys([*_kind(left).split(" | "), *_kind(right).split(" | ")])
            return " | ".join(kinds)
        case ast.Subscript(value=ast.Name(id="Literal")):
            return "bool"
        case ast.Subscript(value=value, slice=part):
            inner = part.elts if isinstance(part, ast.Tuple) else [part]
            return f"{ast.unparse(value)}[{', '.join(map(_kind, inner))}]"
        case ast.Constant(value=None) | ast.Name(id="None"):
            return "None"
    name = ast.unparse(annotation)
    return name if name in _BUILT_IN else "str"


def _fields(classes: tuple[tuple[str, str, str], ...]) -> Iterator[tuple[str, str, Any]]:
    for place in classes:
        body = _class_body(*place)
        for node in body.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, _kind(node.annotation), _default(node.value, body)


_READ = [*_fields(_TRL), *_fields(_OURS)]
SETTINGS: dict[str, Any] = {name: default for name, _, default in _READ}
"""Fields of OnlineConfig with their defaults."""
KINDS: dict[str, Any] = get_type_hints(
    type("Kinds", (), {"__annotations__": {name: kind for name, kind, _ in _READ}}), localns={"Any": Any}
)
"""Types of the settings; enumerations have type str."""
OWN = frozenset(name for name, *_ in _fields(_OURS)) - {name for name, *_ in _fields(_TRL)}
"""Settings that GRPOConfig lacks."""
