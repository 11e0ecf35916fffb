"""`dph figures --runs`: figures of a user's runs as files for a paper, and aggregates over their seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dph_theory.support.table import Table

from .. import files
from ..style.theme import look
from .figures import OWN_FIGURES, OwnFigure
from .tables import Runs, aggregates, read_runs

AGGREGATES = "runs_aggregates"


@dataclass(frozen=True)
class Written:
    """The files, the figures with nothing to show, the aggregates, and every number as a LaTeX command."""

    paths: tuple[Path, ...]
    empty: tuple[str, ...]
    table: Table
    macros: str


def write_runs(
    paths: Sequence[Path], labels: Path | None, prompts: str | None, wanted: files.Wanted
) -> Written:
    """Draw what the runs give; drawings, captions and tables as wanted. ValueError as `read_runs`."""
    runs = read_runs(paths, labels, prompts)
    made_by = " ".join(["dph figures --runs", *(path.name for path in paths)])
    written: list[Path] = []
    commands, empty = [], []
    for figure in OWN_FIGURES:
        made = _piece(figure, runs, wanted)
        if made is None:
            empty.append(figure.name)
        else:
            written += files.write_piece(made, wanted)
            commands.append(files.commands(figure.name, made.table, made_by))
    table = aggregates(runs)
    if wanted.tables is not None:
        written += files.write_table(AGGREGATES, table, wanted.tables)
    commands.append(files.commands(AGGREGATES, table, made_by))
    return Written(tuple(written), tuple(empty), table, "\n".join(commands))


def _piece(figure: OwnFigure, runs: Runs, wanted: files.Wanted) -> files.Piece | None:
    with look(wanted.venue):
        drawing = figure.draw(runs)
    if drawing is None:
        return None
    caption = " ".join([figure.caption, *_about(runs)])
    drawn_from = ", ".join(f"{name} sha256:{digest}" for name, digest in runs.hashes.items())
    return files.Piece(figure.name, figure.title, caption, drawing, figure.table(runs), drawn_from)


def _about(runs: Runs) -> Iterator[str]:
    """What all captions say of the runs."""
    found = runs.runs[0].found
    least, most = found.answers
    answers = f"{least}" if least == most else f"{least} to {most}"
    yield f"{found.prompts} prompts, {answers} answers to each."
    several = {label: len(group) for label, group in runs.by_label.items() if len(group) > 1}
    if several:
        seeds = ", ".join(f"{label} {count}" for label, count in several.items())
        yield f"Runs of one name are seeds ({seeds}), with 95% intervals over them; others' are over prompts."
    else:
        yield "Intervals are over prompts, 95%."
