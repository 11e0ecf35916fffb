"""Output of Coq for theorems, of definitions, examples and axioms, once all files are compiled."""

import re
import tempfile
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from . import sources
from .compilation import OF_EXAMPLES, PRIMITIVES, QUALIFIED, REALS, KernelExample, Printed, Record
from .compiler import INSTALL, CoqError, compile_into, installed, run_coq

BARE = """Set Printing All. Set Printing Width 1000000. Set Printing Depth 1000000.
Set Search Output Name Only.
"""
READABLE = """Require Import Reals List. From Coquelicot Require Import Coquelicot.
Import ListNotations. Open Scope R_scope. Set Printing Width 100. Set Printing Depth 1000.
"""
_OBJECT = re.compile(r"^(?:Constant|Inductive|Constructor) (\S+)( \(shorter)?", re.M)


def compiled(theorems: Iterable[str], counterexamples: Iterable[str] = ()) -> Record:
    """Compile all files, and ask Coq for its print of these theorems and of all examples.

    Raises CoqError if Coq is not there, or with the file, the line and the reason where one is refused.
    """
    if not installed():
        raise CoqError(f"coqc is not installed ({INSTALL})")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        compile_into(Path(temporary))
        record = printed(Path(temporary), theorems, counterexamples)
    return replace(record, seconds=time.perf_counter() - start)


def printed(folder: Path, theorems: Iterable[str], counterexamples: Iterable[str] = ()) -> Record:
    """Record of a folder of compiled files, for theorems and counterexamples by short name."""
    proved, refuted = (_declared(folder, names) for names in (theorems, counterexamples))
    theorem_prints, definition_prints = _prints(folder, [*proved, *refuted])
    closed = " ".join(text.closed for text in (theorem_prints | definition_prints).values())
    paths, examples = _in_full(folder, QUALIFIED.findall(closed)), _examples(folder)
    definitions = {paths.get(name, name): text for name, text in definition_prints.items()}
    groups = [(proved, REALS), (refuted, REALS), ([*examples], REALS | PRIMITIVES)]
    return Record(
        coq=run_coq(folder, "--print-version").split()[0],
        files=sources.hashes(),
        theorems=theorem_prints,
        definitions=dict(sorted(definitions.items())),
        examples=examples,
        paths=paths,
        axioms=_axioms(folder, groups),
    )


def _ask(folder: Path, preamble: str, commands: Iterable[str]) -> list[str]:
    """Outputs of Coq, one per command, after the text `preamble`."""
    redirected = [f'Redirect "{number}" {command}.' for number, command in enumerate(commands)]
    _run(folder, preamble + "\n".join(redirected), *(["-noinit"] if preamble.startswith(BARE) else []))
    return [(folder / f"{number}.out").read_text(encoding="utf-8") for number in range(len(redirected))]


def _run(folder: Path, text: str, *options: str) -> str:
    """Output of Coq on a text, with all files of the folder loaded but not imported."""
    modules = " ".join(f"Kernel.{stem}" for stem in _stems(folder))
    (folder / "Asked.v").write_text(f"Require {modules}.\n{text}", encoding="utf-8")
    return run_coq(folder, *options, "Asked.v")


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.vo") if path.stem != "Asked")


def _declared(folder: Path, names: Iterable[str]) -> list[str]:
    """Full names of the constants of our files whose short name is among `names`."""
    located = "\n".join(_ask(folder, BARE, [f"Locate Term {name}" for name in {*names}]))
    return sorted({full for full, _ in _OBJECT.findall(located) if full.startswith("Kernel.")})


def _in_full(folder: Path, printed_names: Iterable[str]) -> dict[str, str]:
    """Full name of each name that Coq printed."""
    names = sorted({*printed_names})
    located = _ask(folder, BARE, [f"Locate Term {name}" for name in names])
    full_names = [next(full for full, longer in _OBJECT.findall(text) if not longer) for text in located]
    return dict(zip(names, full_names, strict=True))


def _prints(folder: Path, theorems: Sequence[str]) -> tuple[dict[str, Printed], dict[str, Printed]]:
    """Printed theorems, and printed definitions of ours that they depend on, by full name."""
    commands, closed = dict[str, str](), dict[str, str]()
    pending = {name: f"Print Term {name}" for name in OF_EXAMPLES[:2]}
    pending |= {name: f"Check @{name}" for name in (*OF_EXAMPLES[2:], *theorems)}
    ours = ("Kernel.", *(f"{stem}." for stem in _stems(folder)))
    while pending:
        texts = [" ".join(_statement(text).split()) for text in _ask(folder, BARE, pending.values())]
        commands, closed = commands | pending, closed | dict(zip(pending, texts, strict=True))
        reached = sorted({*QUALIFIED.findall(" ".join(texts))} - closed.keys())
        pending = {name: f"Print Term {name}" for name in reached if name.startswith(ours)}
    readable = map(_statement, _ask(folder, READABLE, commands.values()))
    prints = dict(zip(closed, map(Printed, readable, closed.values()), strict=True))
    return {name: prints.pop(name) for name in theorems}, prints


def _statement(text: str) -> str:
    """Type or body of a printed constant, without its name and the notes on its arguments."""
    _, sign, statement = re.split(r"\s+([:=])\s+", text.partition("\n\nArguments")[0], maxsplit=1)
    return dedent(f"       {statement}" if sign == ":" else statement).strip()


def _examples(folder: Path) -> dict[str, KernelExample]:
    """Examples by full name: the theorem that each one's proof applies, and its numbers."""
    names = " ".join(_ask(folder, BARE, [f"Search {name}" for name in OF_EXAMPLES[:2]])).split()
    evaluated = "".join(f"Ltac2 Eval example '@{name}.\n" for name in sorted(names))
    output = _run(folder, sources.APPLIED.read_text(encoding="utf-8") + evaluated)
    examples = {}
    for block in re.split(r"^example \.", output, flags=re.M)[1:]:
        (name,), theorems, values = (
            tuple(re.findall(rf"^{word}[.(]?(.*?)\)?$", block, re.M))
            for word in (r"(?=Kernel\.)", "applies ", "value ")
        )
        examples[name] = KernelExample(name, theorems, values)
    return examples


def _axioms(folder: Path, groups: Sequence[tuple[list[str], Collection[str]]]) -> dict[str, tuple[str, ...]]:
    """Axioms below each name, by group of names and axioms allowed there; names are split if others occur."""
    groups = [group for group in groups if group[0]]
    if not groups:
        return {}
    preamble = BARE
    for number, (names, _) in enumerate(groups):
        # Not a tuple: the type of one of many grows with their number squared.
        applied = "".join(f"let _ := @{name} in " for name in names)
        preamble += f"Definition all_{number} : Coq.Init.Logic.True := {applied} Coq.Init.Logic.I.\n"
    commands = [f"Print Assumptions all_{number}" for number in range(len(groups))]
    # What goes on is indented; what is no axiom's name, an unguarded fixpoint say, stays as it is printed.
    lines = [
        re.findall(r"^(?! |Axioms:$|Closed under)(.+?)(?: :.*)?$", text, re.M)
        for text in _ask(folder, preamble, commands)
    ]
    paths = _in_full(folder, (line for below in lines for line in below if QUALIFIED.fullmatch(line)))
    judged, parts = dict[str, tuple[str, ...]](), list[tuple[list[str], Collection[str]]]()
    for (names, allowed), below in zip(groups, lines, strict=True):
        axioms = tuple(sorted(paths.get(line, line) for line in below))
        if len(names) > 1 and not {*axioms} <= {*allowed}:
            size = -(-len(names) // 8)
            parts += [(names[start : start + size], allowed) for start in range(0, len(names), size)]
        else:
            judged |= dict.fromkeys(names, axioms)
    return judged | _axioms(folder, parts)
