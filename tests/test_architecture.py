"""The house rules that a machine can hold: arrows, sizes, silence, where tests stand.

A rule is one test that lists every place which breaks it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("dph_theory", "toy_lm", "full_scale", "figures")
MAY_IMPORT = {
    "dph_theory": set(),
    "toy_lm": {"dph_theory"},
    "full_scale": {"dph_theory"},
    "figures": {"dph_theory", "toy_lm"},
}
NEEDS_TORCH = (
    "dph_theory/audit/",
    "dph_theory/finite_training/adjoint.py",
    *(
        f"dph_theory/losses/{module}.py"
        for module in (
            "advantages",
            "alpha_dpg",
            "generator",
            "inputs",
            "methods",
            "pass_rates",
            "penalty",
            "policy_losses",
            "reductions",
        )
    ),
)
"""The parts of dph_theory that may import torch."""
LONGEST_FILE, LONGEST_FUNCTION = 600, 60
"""A file or a function that grows beyond is a reason to look whether it still holds one idea."""
ENTRY_POINTS = {"cli.py", "dph_cli.py"}
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
BESIDE = [ROOT / "dph_cli.py"]
"""Of no package."""
SOURCES += BESIDE
THEOREMS = ROOT / "dph_theory" / "theorems"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules a file imports, absolute, as tuples of their parts."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = tuple(node.module.split(".")) if node.module else ()
            yield from ((*base, *module, alias.name) for alias in node.names)


def test_arrows_between_packages_go_one_way():
    for path in SOURCES[: -len(BESIDE)]:
        package = path.relative_to(ROOT).parts[0]
        imported = {module[0] for module in imports(path)}
        assert imported & set(PACKAGES) - {package} <= MAY_IMPORT[package], name(path)


def test_the_pipeline_reads_neither_laboratory_nor_audit():
    laboratory = {("full_scale", "experiments"), ("full_scale", "audit")}
    own = tuple("/".join(room) + "/" for room in laboratory)
    for path in (ROOT / "full_scale").rglob("*.py"):
        if path.name not in ENTRY_POINTS and not name(path).startswith(own):
            assert not {module[:2] for module in imports(path)} & laboratory, name(path)


def test_the_theory_needs_no_torch():
    for path in sorted((ROOT / "dph_theory").rglob("*.py")):
        if not name(path).startswith(NEEDS_TORCH):
            imported = {module[0] for module in imports(path)}
            assert not imported & {"torch", "transformers", "trl", "matplotlib"}, name(path)


def test_rooms_are_small():
    files = {name(p): len(p.read_text().splitlines()) for p in SOURCES}
    assert {file: lines for file, lines in files.items() if lines > LONGEST_FILE} == {}
    functions = {
        f"{name(path)}:{node.name}": node.end_lineno - node.lineno
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {function: lines for function, lines in functions.items() if lines >= LONGEST_FUNCTION} == {}


def test_only_entry_points_print():
    for path in SOURCES:
        calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
        prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        assert not prints or path.name in ENTRY_POINTS, name(path)


def test_every_module_and_every_room_says_what_it_is():
    assert [name(path) for path in SOURCES if not ast.get_docstring(tree(path))] == []
    rooms = {path.parent for path in SOURCES} - {ROOT}
    assert [name(room) for room in sorted(rooms) if not (room / "__init__.py").exists()] == []


def test_no_bare_assert_and_no_swallowed_error():
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            assert not isinstance(node, ast.Assert), f"{name(path)}:{node.lineno}"
            assert not (isinstance(node, ast.ExceptHandler) and node.type is None), name(path)


def test_no_theorem_file_imports_another():
    """What several share stands in the library, or in a file of the folder whose name begins with _."""
    for path in THEOREMS.rglob("[a-z]*.py"):
        for module in imports(path):
            if module[:2] == ("dph_theory", "theorems"):
                assert module[2].startswith("_"), (path.name, module)


def test_tests_stand_where_their_subject_does():
    """A test module holds one subject, in the folder of that subject's source."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.relative_to(ROOT / "tests").parent
        if folder.parts and folder.parts[0] in PACKAGES:
            assert (ROOT / folder).is_dir(), path
