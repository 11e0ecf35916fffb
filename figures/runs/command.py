"""`dph figures --runs`: the plates of a user's runs as files for a paper, and aggregates over their seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..look.tables import Table
from ..look.theme import look
from ..results import paper
from .inputs import Runs, read_runs
from .numbers import aggregates
from .plates import PLATES, Plate

AGGREGATES = "runs_aggregates"


@dataclass(frozen=True)
class Written:
    """The files, the plates with nothing to show, the aggregates, and every number as a LaTeX command."""

    paths: tuple[Path, ...]
    empty: tuple[str, ...]
    table: Table
    macros: str


def write_runs(
    paths: Sequence[Path], labels: Path | None, prompts: str | None, wanted: paper.Wanted
) -> Written:
    """Draw what the runs give; drawings, captions and tables as wanted. ValueError as `read_runs`."""
    runs = read_runs(paths, labels, prompts)
    made_by = " ".join(["dph figures --runs", *(path.name for path in paths)])
    written: list[Path] = []
    commands, empty = [], []
    for plate in PLATES:
        made = _piece(plate, runs, wanted)
        if made is None:
            empty.append(plate.name)
        else:
            written += paper.write(made, wanted)
            commands.append(paper.commands(plate.name, made.table, made_by))
    table = aggregates(runs)
    if wanted.tables is not None:
        written += paper.write_table(AGGREGATES, table, wanted.tables)
    commands.append(paper.commands(AGGREGATES, table, made_by))
    return Written(tuple(written), tuple(empty), table, "\n".join(commands))


def _piece(plate: Plate, runs: Runs, wanted: paper.Wanted) -> paper.Piece | None:
    with look(wanted.venue):
        drawing = plate.draw(runs)
    if drawing is None:
        return None
    caption = " ".join([plate.caption, *_about(runs)])
    drawn_from = ", ".join(f"{name} sha256:{digest}" for name, digest in runs.hashes.items())
    return paper.Piece(plate.name, plate.title, caption, drawing, plate.table(runs), drawn_from)


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
