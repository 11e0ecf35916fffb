"""What each entry says, and what the kernel proves of it, side by side: changes of either are seen.

No machine proves that LaTeX and Coq say the same, so each pair is pinned by its hashes once it has
been read. UPDATE_PINS=1 writes them anew: read the difference, and both statements of each line in it.
"""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from dph_theory.coq.compilation import recorded
from dph_theory.theorems import THEOREMS

PINS = Path(__file__).with_name("pinned.txt")
DRAWN = 64
OFF_TIES = 1 + 1e-9
"""Moves a value like 0.25 off the tie between two first digits, whatever its last bits are."""


def digest(*texts):
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:10]


def wording(theorem):
    """Title and LaTeX, note and part."""
    return digest(theorem.title, theorem.statement, theorem.note, theorem.part, str(theorem.relation))


def proved(theorem):
    """What Coq prints of the closed theorems by which it counts as proved, and of all that they reach."""
    record = recorded()
    full_names = [full for name in theorem.coq.split() for full in record.named(name)]
    lines = [line for full in full_names for line in record.closed_form(full)]
    return digest(*lines) if lines else "-"


def ranged(theorem):
    """Each part of the instances, by the first digit of its least and greatest among `DRAWN`."""
    cube = np.random.default_rng(0).random((DRAWN, theorem.instances.dimension))
    words = []
    for name, values in sorted(theorem.instances(cube).items()):
        finite = values[np.isfinite(values)]
        least, greatest = (OFF_TIES * end for end in (finite.min(), finite.max())) if finite.size else (0, 0)
        words.append(f"{name} {least:.0e} {greatest:.0e}" if finite.size else name)
    return digest(*words)


def near_misses(theorem):
    return digest(*(false.name for false in theorem.false_neighbours))


def line(theorem):
    parts = {"says": wording, "proved": proved, "of": ranged, "not": near_misses}
    return f"{theorem.name} " + " ".join(f"{word} {part(theorem)}" for word, part in parts.items())


@pytest.fixture(scope="module")
def pins():
    if os.environ.get("UPDATE_PINS"):
        PINS.write_text("\n".join(map(line, THEOREMS.values())) + "\n")
    return {text.partition(" ")[0]: text for text in PINS.read_text().splitlines()}


def test_every_entry_is_pinned_and_no_other(pins):
    assert list(pins) == list(THEOREMS)


@pytest.mark.parametrize("name", THEOREMS)
def test_what_an_entry_says_is_what_was_read_beside_its_proof(pins, name):
    theorem = THEOREMS[name]
    assert line(theorem) == pins[name], f"read {name} and its theorem again, then UPDATE_PINS=1"
