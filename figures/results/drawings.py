"""Numbers computed anew, and drawings as files: the same numbers give the same bytes, whatever the day."""

import logging
import re
import shutil
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_bytes
from dph_theory.support.progress import Progress, silent
from toy_lm.experiments import EXPERIMENTS

from ..catalogue import figure
from ..look.theme import FORMATS, look
from . import experiments, store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OUT = Path(__file__).parents[1] / "out"
"""Where drawings go if nothing else is said."""
_UNDATED: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
    "svg": {"Date": None},
}


_PLACES = re.compile(rb'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)')
_DECIMALS = re.compile(rb"-?\d+\.\d{3,}")
_BETWEEN = re.compile(rb">\s+<(?!g id)")
"""Where an SVG has coordinates, those with more decimals than can be seen, and space between its tags."""
_CLIP = re.compile(rb'(?<=["#])p[0-9a-f]{10}(?=[")])')
"""The names of an SVG's clips, made of all digits of their place: the layout does not settle the last one."""


_GROUP, _MATHDEFAULT = b"\\begingroup%\n", b"\\providecommand{\\mathdefault}[1]{#1}%\n"
"""How a PGF drawing begins, and a command that its numbers use and only matplotlib's own preamble has."""
_SET = re.compile(rb"(?<=\\def%\{\\%\}).*?(?=\}\}%\n)")
"""The words that a PGF drawing sets."""


def formats(text: str) -> tuple[str, ...]:
    """The formats of a comma-separated list; ValueError says which there are."""
    chosen = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not chosen or not set(chosen) <= set(FORMATS):
        raise argument_error("format", text, f"one or more of {', '.join(FORMATS)}, with commas between")
    tex = mpl.rcParams["pgf.texsystem"]
    if "pgf" in chosen and shutil.which(tex) is None:
        raise argument_error("format", "pgf", f"only where {tex} is installed, which measures its words")
    return chosen


def rendered(drawing: "Drawing", form: str, subject: str | None = None) -> bytes:
    """A drawing in one of the FORMATS; a PDF says in its metadata what its subject is."""
    buffer = BytesIO()
    # Its fonts have no date either, which the library that embeds them finds worth a warning.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # Fonts, resolution and the ids of an SVG are settled as it is written, not as it is drawn.
    with look():
        about: dict[str, str | None] = {"Subject": subject} if form == "pdf" and subject else {}
        # LaTeX has no metadata for a part of a document.
        known: dict[str, Any] = {} if form == "pgf" else {"metadata": _UNDATED[form] | about}
        drawing.savefig(buffer, format=form, **known)
    made = buffer.getvalue()
    if form == "pgf":
        return for_any_document(made)
    return _settled(made) if form == "svg" else made


def _settled(svg: bytes) -> bytes:
    """An SVG without what cannot be seen: further decimals, space between tags, a place in names."""
    clips: dict[bytes, bytes] = {}
    named = _CLIP.sub(lambda clip: clips.setdefault(clip.group(), b"clip%d" % len(clips)), svg)
    return _BETWEEN.sub(b"><", _PLACES.sub(_shorter, named))


def for_any_document(pgf: bytes) -> bytes:
    """A PGF drawing that needs no preamble but the package pgf: underscores in words are escaped."""
    return _SET.sub(_escaped, pgf.replace(_GROUP, _GROUP + _MATHDEFAULT, 1))


def _escaped(words: re.Match[bytes]) -> bytes:
    """Words with their underscores escaped, those in formulas left as they are."""
    parts = re.split(rb"(?<!\\)\$", words.group())
    return b"$".join(part if i % 2 else re.sub(rb"(?<!\\)_", rb"\\_", part) for i, part in enumerate(parts))


def _shorter(place: re.Match[bytes]) -> bytes:
    """Coordinates to a hundredth of a point, on one line."""
    rounded = _DECIMALS.sub(lambda number: f"{float(number.group()):.2f}".encode(), place.group())
    return b" ".join(rounded.split())


def save(
    name: str,
    drawing: "Drawing",
    chosen: tuple[str, ...],
    folder: Path = OUT,
    subject: str | None = None,
) -> list[Path]:
    """Write a drawing under its name in each of the chosen formats; `subject` as in `rendered`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{form}" for form in chosen]
    for path, form in zip(paths, chosen, strict=True):
        write_bytes(path, rendered(drawing, form, subject))
    return paths


def recompute(
    names: Sequence[str],
    *,
    seed: int = 0,
    folder: Path = store.NUMBERS,
    progress: Progress = silent,
) -> dict[str, str]:
    """Run the experiments that these figures need, compute the figures' numbers, and store them all.

    Returns what went wrong, by name; what failed leaves the numbers that were there, and the others go on.
    """
    failed: dict[str, str] = {}
    for needed in EXPERIMENTS:
        if any(needed in figure(name).needs for name in names):
            try:
                experiments.run(needed, seed=seed, folder=folder, progress=partial(_staged, progress, needed))
            except Exception as error:
                failed[f"toy.{needed}"] = f"{type(error).__name__}: {error}"
    for done, name in enumerate(names):
        progress("numbers", done, len(names))
        missing = [kind for kind in map("toy.{}".format, figure(name).needs) if kind in failed]
        if missing:
            failed[name] = f"it needs {', '.join(missing)}, which failed"
            continue
        try:
            made = figure(name).numbers(seed=seed, folder=folder)
            if not figure(name).needs:
                store.save(name, made, folder)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    progress("numbers", len(names), len(names))
    return failed


def _staged(progress: Progress, what: str, stage: str, done: int, total: int) -> None:
    """An experiment's own stages are parts of one bar."""
    progress(what, done, total)
