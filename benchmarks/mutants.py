"""How many changed lines the tests see: one small change at a time, in a copy; a measurement, never red.

Sixty lines are drawn with a seed, each package its share. A comparison, an operator, a constant, a condition
is changed, or a line is left out, and the tests that reach it are run: which these are, one run of the whole
suite under coverage says. A change is killed where a test fails that passes on the line as it was. What
survives is either equivalent or asks for a test. Run as `python benchmarks/mutants.py`; `--list` shows what
would be changed. It takes pytest-cov beside the `dev` extra.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from coverage import CoverageData

from dph_theory.support.files import write_json
from dph_theory.support.record import record

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "mutants.json"
PACKAGES = ("dph_theory", "toy_lm", "full_scale", "figures")
_EXCHANGED = (
    ((ast.Lt, ast.GtE), (ast.LtE, ast.Gt), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)),
)
OPERATORS = {a: b for pairs in _EXCHANGED for one, other in pairs for a, b in ((one, other), (other, one))}
FEW = 25
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.M)


@dataclass(frozen=True)
class Mutant:
    """One change: bytes of a file, and what stands there instead."""

    path: str
    line: int
    kind: str
    was: str
    now: str
    start: int
    end: int


def changed(node: ast.AST) -> tuple[str, str] | None:
    """What kind of change a node allows, and its source then."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        other = ast.Compare(node.left, [OPERATORS[type(node.ops[0])]()], node.comparators)
        return "comparison", f"({ast.unparse(other)})"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return "operator", f"({ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))})"
    if isinstance(node, ast.BoolOp):
        return "boolean", f"({ast.unparse(ast.BoolOp(OPERATORS[type(node.op)](), node.values))})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return "sign", f"({ast.unparse(node.operand)})"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return "boolean", str(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return "constant", repr(node.value + 1)
    if isinstance(node, ast.AugAssign | ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        return "line left out", "pass"
    return None


def below(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, but for annotations, and f-strings, whose parts have no place."""
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from below(child)


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Every change of a file, those of a line side by side."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mutants = []
    for node in below(ast.parse(source)):
        change = changed(node)
        if change is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            was = " ".join(source[start:end].decode().split())
            name = str(path.relative_to(root))
            mutants.append(Mutant(name, node.lineno, change[0], was, change[1], start, end))
    return mutants


def drawn(count: int, seed: int, root: Path) -> list[Mutant]:
    """So many changes, each package its share by lines that can be changed, a line at most once."""
    draw, chosen = random.Random(seed), []
    by_package = {}
    for package in PACKAGES:
        lines: dict[tuple[str, int], list[Mutant]] = {}
        for path in sorted((root / package).rglob("*.py")):
            for mutant in mutants_of(path, root):
                lines.setdefault((mutant.path, mutant.line), []).append(mutant)
        by_package[package] = lines
    lines_in_all = sum(map(len, by_package.values()))
    for lines in by_package.values():
        share = max(1, round(count * len(lines) / lines_in_all))
        chosen += [draw.choice(lines[place]) for place in draw.sample(sorted(lines), share)]
    draw.shuffle(chosen)
    return chosen[:count]


def again(stored: Path, root: Path) -> list[Mutant]:
    """The changes of a stored run whose lines still stand, wherever in their files."""
    standing = []
    for row in json.loads(stored.read_text(encoding="utf-8"))["results"]["mutants"]:
        mutant = Mutant(**{field.name: row[field.name] for field in fields(Mutant)})
        path = root / mutant.path
        changes = mutants_of(path, root) if path.exists() else []
        change = (mutant.kind, mutant.was, mutant.now)
        same = [one for one in changes if (one.kind, one.was, one.now) == change]
        standing += sorted(same, key=lambda one: abs(one.line - mutant.line))[:1]
    return standing


def reached(root: Path, store: Path) -> CoverageData:
    """Which test reaches which line: the whole suite once, under coverage."""
    if not store.exists():
        words = ["-n", "auto", "--dist", "loadfile", "--cov", "--cov-context=test", "--cov-report="]
        done = pytest([*words, *(f"--cov={package}" for package in PACKAGES)], root, None)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout[-2000:])
        (root / ".coverage").replace(store)
    data = CoverageData(str(store))
    data.read()
    return data


def tests_of(mutant: Mutant, data: CoverageData, root: Path) -> list[str]:
    """The tests that reach a line, or its module where it is run at import; the least reaching first."""
    file = next((file for file in data.measured_files() if file.endswith(mutant.path)), "")
    by_line = {
        line: {name.split("|")[0].split("[")[0] for name in names if name}
        for line, names in data.contexts_by_lineno(file).items()
    }
    how_much = Counter(name for names in by_line.values() for name in names)
    reaching, path = by_line.get(mutant.line) or how_much, Path(mutant.path)
    # A constant may be asked for by a test that reaches no line beside it.
    module = Path("tests") / path.parent / f"test_{path.stem}.py"
    first = [str(module)] if reaching is how_much and (root / module).exists() else []
    particular = sorted(reaching, key=lambda name: (how_much[name], name))
    return [*first, *(name for name in particular if stands(name, root))]


def stands(test: str, root: Path) -> bool:
    """Whether there is such a test."""
    file, _, name = test.partition("::")
    path = root / file
    return path.exists() and f"def {name}(" in path.read_text(encoding="utf-8")


def pytest(arguments: list[str], root: Path, limit: float | None) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy; raises subprocess.TimeoutExpired."""
    environment = {"PYTHONPATH": str(root), "CI": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    words = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "--tb=no", *arguments]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )


def judged(
    mutant: Mutant, tests: list[str], root: Path, limit: float, clock: Iterator[int]
) -> dict[str, object]:
    """Whether the tests see the change, and the first of them that does."""
    path = root / mutant.path
    before = path.read_bytes()

    def write(text: bytes) -> None:
        path.write_bytes(text)
        # Bytecode is kept by whole seconds of the file's time and by its size.
        os.utime(path, (stamp := next(clock), stamp))

    started, verdict, by = time.monotonic(), "survived" if tests else "not reached", ""
    write(before[: mutant.start] + mutant.now.encode() + before[mutant.end :])
    try:
        # The most particular first: most changes are seen by one of them.
        for part in filter(None, (tests[:FEW], tests[FEW:])):
            done = pytest(["-x", "-n", "0", *part], root, limit)
            # Nothing fails where all that reach a line are slow.
            if done.returncode not in (0, 5):
                failed = FAILED.search(done.stdout)
                by, verdict = failed[1] if failed else "collection", "killed"
                break
    except subprocess.TimeoutExpired:
        verdict = "timed out"
    write(before)
    if verdict == "killed" and by != "collection" and pytest(["-n", "0", by], root, limit).returncode != 0:
        verdict = "fails without it"
    return {**asdict(mutant), "verdict": verdict, "by": by, "seconds": round(time.monotonic() - started, 1)}


def main() -> None:
    """Draw the changes, try each in a copy of the last commit, print what survives, and store all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many changed lines [default: 60]")
    parser.add_argument("--seed", type=int, default=0, help="which of them [default: 0]")
    parser.add_argument("--only", default="", help="only files whose path begins so")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds a run of tests may take [default: 300]"
    )
    parser.add_argument("--revision", default="HEAD", help="of which commit [default: HEAD]")
    parser.add_argument("--reached", type=Path, help="where to keep, and to find, which test reaches what")
    parser.add_argument("--again", type=Path, help="the changes of this stored run, where they still stand")
    parser.add_argument("--list", action="store_true", help="show them and run nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to store the verdicts")
    options = parser.parse_args()
    git = ["git", "-C", str(ROOT)]
    judgements, clock = [], iter(range(int(time.time()), 2**62))
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "copy"
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", root, options.revision], check=True)
        try:
            stored, count, seed = options.again, options.count, options.seed
            mutants = again(stored, root) if stored else drawn(count, seed, root)
            chosen = [m for m in mutants if m.path.startswith(options.only)]
            if options.list:
                for m in chosen:
                    print(f"{m.path}:{m.line}: {m.kind}: {m.was}  ->  {m.now}")
                return
            data = reached(root, options.reached or Path(place) / "reached")
            for mutant in chosen:
                tests = tests_of(mutant, data, root)
                judgements.append(judged(mutant, tests, root, options.limit, clock))
                print("{path}:{line}: {was} -> {now}: {verdict} {by} ({seconds} s)".format(**judgements[-1]))
                _store(options, judgements)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", root], check=True)


def _store(options: argparse.Namespace, judgements: list[dict[str, object]]) -> None:
    counts = Counter(str(judgement["verdict"]) for judgement in judgements)
    killed = f"{counts['killed']} of {len(judgements)} changed lines are killed"
    again = options.again and options.again.name
    config = {"count": options.count, "only": options.only, "limit": options.limit, "again": again}
    findings = [f"{killed}, {counts['survived']} survive."]
    results = {"mutants": judgements, **counts}
    write_json(
        options.out, record("mutants", seed=options.seed, config=config, results=results, findings=findings)
    )


if __name__ == "__main__":
    main()
