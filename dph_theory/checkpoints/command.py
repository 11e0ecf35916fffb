"""Output of `dph compare`, printed and stored."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
from rich.console import Console

from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from ..support.record import record
from ..support.table import Table, printable
from .comparison import Comparison, compare
from .counts import Counts, UnmatchedPromptsError
from .reading import distinct_names, read_counts, read_steps
from .report import MOST_KS, curve_table, guess_sentence, requested, sentences, tables
from .several_runs import compare_runs

_WIDTH, _LINES = 80, 20
"""Columns, and lines, of what is printed unasked."""


def print_comparison(
    base: Path, runs: tuple[Path, ...], json_path: Path | None, everything: bool, **options: Any
) -> None:
    """Read, compare, print and store by the options of `dph compare`.

    Raises:
        click.UsageError: If a file cannot be read or paired.
    """
    options["ks"] = options["ks"] and sorted({*options["ks"]})
    reading = {name: options.pop(name) for name in terminal.COUNTS_OPTIONS}
    by, by_step, seeds = (options.pop(name) for name in ("by", "by_step", "mean"))
    trained = {*_ids(options.pop("trained"))}
    # What goes to standard output must be the record alone.
    console = terminal.console(highlight=False, quiet=json_path == STANDARD_OUTPUT)
    console.width = console.width if everything else min(console.width, _WIDTH)
    comparisons: list[Comparison] = []
    checkpoints: list[tuple[str, int | None, Counts]] = []
    try:
        first_name, *names = distinct_names([base, *runs])
        first = replace(read_counts(base, by=by, **reading), name=first_name)
        band = {name: options[name] for name in ("ks", "seed", "allow_missing", "min_n")}
        first = _held_out(first, trained)
        for path, name in zip(runs, names, strict=True):
            steps = read_steps(path, **reading) if by_step else {None: read_counts(path, **reading)}
            for step, run in steps.items():
                run = _held_out(replace(run, name=name if step is None else f"{name}, step {step}"), trained)
                checkpoints.append((name, step, run))
            # Of a training's steps the last is shown alone, all of them together.
            comparisons.append(compare(first, run, **options))
        many = len(checkpoints) > 1 or seeds
        several = compare_runs(first, checkpoints, seeds=seeds, **band) if many else None
    except ValueError as error:
        hint = "; --allow-missing leaves them out" if isinstance(error, UnmatchedPromptsError) else ""
        raise click.UsageError(f"{error}{hint}") from error
    if json_path is not None:  # Before anything is said, which a closed pipe would end.
        together = several and several.to_dict()
        results = {"runs": [one.to_dict() for one in comparisons], "together": together}
        lines = [line for one in comparisons for line in sentences(one)]
        write_json(json_path, _record(results, lines, **options))
    for comparison in comparisons if several is None or everything else ():
        _show(console, comparison, everything)
    if several is not None:
        _print(console, several.summary(), several.tables())
        if (possible := options["possible_answers"]) and not everything:
            console.print(guess_sentence(possible, several.k))
    if not (several and seeds):
        console.print("Intervals are over prompts; other seeds are not in them (--mean). More: --all")
    console.print(f"Next: dph predict CONFIG --counts {base}", markup=False, soft_wrap=True)


def _ids(path: Path | None) -> list[str]:
    return [] if path is None else [*filter(None, map(str.strip, path.read_text("utf-8").splitlines()))]


def _held_out(counts: Counts, trained: Collection[str]) -> Counts:
    """Counts without the trained prompts."""
    return replace(counts, rows={i: row for i, row in counts.rows.items() if str(i) not in trained})


def _record(
    results: Mapping[str, Any], findings: Sequence[str], *, seed: int, ks: Any, **settings: Any
) -> dict[str, Any]:
    described: Any = {"seed": seed, "config": {"k": ks, **settings}, "packages": ("numpy", "scipy")}
    return record("compare", results=results, findings=findings, **described)


def _show(console: Console, comparison: Comparison, everything: bool) -> None:
    """Print the sentences, notes and the Pass@k table with requested rows; every table if `everything`."""
    notes = [f"Note: {note}." for note in comparison.notes]
    if everything:
        _print(console, "\n".join([*sentences(comparison), *notes]), tables(comparison))
        return
    lines, shown = [*_wrapped(sentences(comparison))], [*_wrapped(notes)]
    # Two lines end the answer, three of the table are no rows.
    room = _LINES - len(lines) - 5
    curves = curve_table(comparison.curves, most=min(MOST_KS, room - bool(notes)))
    room -= len(curves.rows)
    while notes and len(shown) > room:
        notes.pop()
        shown = [*_wrapped(notes), f"Notes: {len(comparison.notes) - len(notes)} more with --all."]
    _print(console, "\n".join([*lines, *shown]), [curves, *requested(comparison)])


def _wrapped(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _print(console: Console, words: str, shown: Sequence[Table]) -> None:
    console.print(printable(words), markup=False, soft_wrap=True)
    for table in shown:
        console.print(table.rich(show_edge=False))
