"""The house rules that a machine can hold: arrows, sizes, silence, the mirror of the tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("dph_theory", "toy_lm", "full_scale", "figures")
MAY_IMPORT = {
    "dph_theory": set(),
    "toy_lm": {"dph_theory"},
    "full_scale": {"dph_theory"},
    "figures": {"dph_theory", "toy_lm"},
}
NEEDS_TORCH = {"losses", "audit"}
"""The folders of dph_theory that may import torch."""
LONGEST_FILE, LONGEST_FUNCTION = 280, 45
ENTRY_POINTS = {"cli.py", "dph_cli.py"}
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
SOURCES.append(ROOT / "dph_cli.py")
every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> set[str]:
    """The top-level packages a file imports, other than from its own."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@every_source
def test_arrows_go_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    if package in PACKAGES:
        assert imported(path) & set(PACKAGES) - {package} <= MAY_IMPORT[package]


@pytest.mark.parametrize("path", sorted((ROOT / "dph_theory").rglob("*.py")), ids=lambda path: path.name)
def test_the_theory_needs_no_torch(path):
    if path.relative_to(ROOT).parts[1] not in NEEDS_TORCH:
        assert not imported(path) & {"torch", "transformers", "trl", "matplotlib"}


@every_source
def test_rooms_are_small(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < LONGEST_FUNCTION, node.name


@every_source
def test_only_entry_points_print(path):
    calls = [n.func for n in ast.walk(tree(path)) if isinstance(n, ast.Call)]
    prints = [f for f in calls if isinstance(f, ast.Name) and f.id == "print"]
    assert not prints or path.name in ENTRY_POINTS


@every_source
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(tree(path))


@every_source
def test_no_bare_assert_and_no_swallowed_error(path):
    for node in ast.walk(tree(path)):
        assert not isinstance(node, ast.Assert), node.lineno
        assert not (isinstance(node, ast.ExceptHandler) and node.type is None), node.lineno


def test_every_theorem_file_is_registered_and_every_entry_has_a_file():
    from dph_theory.theorems import MODULES

    files = {path.stem for path in (ROOT / "dph_theory" / "theorems").glob("*.py")} - {"__init__"}
    assert files == set(MODULES)
    assert len(MODULES) == len(set(MODULES))


def test_tests_mirror_the_sources():
    modules = [p for p in SOURCES if p.name not in ("__init__.py",) and "theorems" not in p.parts]
    for path in modules:
        relative = path.relative_to(ROOT)
        tested = (ROOT / "tests" / relative.parent / f"test_{relative.name}").exists()
        assert tested, relative
    for path in (ROOT / "tests").rglob("test_*.py"):
        relative = path.relative_to(ROOT / "tests")
        if relative.parts[0] in PACKAGES and "theorems" not in relative.parts:
            assert (ROOT / relative.parent / relative.name.removeprefix("test_")).exists(), relative


def test_theorem_tests_belong_to_a_statement():
    statements = {path.stem[:3] for path in (ROOT / "dph_theory" / "theorems").glob("[abcd]*.py")}
    for path in (ROOT / "tests" / "dph_theory" / "theorems").glob("test_*.py"):
        assert path.stem == "test_registry" or path.stem.removeprefix("test_") in statements, path.name
