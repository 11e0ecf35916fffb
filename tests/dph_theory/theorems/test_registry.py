"""Every entry of the registry, looked at for less time than in the short form of `dph verify`."""

import numpy as np
import pytest

from dph_theory.theorems import THEOREMS
from dph_theory.verification.reports import SearchSettings, settings_for
from dph_theory.verification.run import verify_one
from dph_theory.verification.search import sample
from dph_theory.verification.statement import Verdict

every = pytest.mark.parametrize("theorem", THEOREMS.values(), ids=lambda t: t.name)


def test_every_entry_is_named_where_it_stands():
    for name, theorem in THEOREMS.items():
        subject, _, word = name.partition(".")
        assert (theorem.name, theorem.subject, word.isidentifier()) == (name, subject, True)


@every
def test_an_entry_is_complete_and_its_sides_are_batched(theorem):
    assert theorem.title
    assert theorem.statement
    names = [false.name for false in theorem.false_neighbours]
    assert len(set(names)) == len(names), "a neighbour listed twice counts one refutation twice"
    assert (theorem.expected is Verdict.REFUTED) <= bool(theorem.note), "a refuted claim says what holds"
    # A batch gives the same numbers as its members one by one.
    cube = sample(theorem.instances, 2, np.random.default_rng(1))
    alone = [theorem.violation(theorem.instances(cube[i : i + 1]))[0] for i in range(2)]
    assert theorem.violation(theorem.instances(cube)) == pytest.approx(alone, rel=1e-6, abs=1e-9)


@every
def test_a_short_search_finds_what_is_expected(theorem):
    # The verdict, the values kept with examples, the fall of every false neighbour, what the kernel has.
    assert verify_one(theorem, SearchSettings(200, 16, 2, 2)).unexpected == ()


def test_rounding_does_not_decide_a_verdict_at_a_tie():
    tie = {"share": [0.7, 0.5], "merits": [[0.1, 0.1], [0.9, 0.9]], "rivals": [1.0, 1.0]}
    instances = {name: np.array(values) for name, values in tie.items()}
    assert THEOREMS["runs_and_ends.start"].violation(instances).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [161, 900, 901, 902])
def test_another_seed_finds_what_is_expected(seed):
    settings = settings_for(seed=seed, quick=True)
    unexpected = {name: verify_one(theorem, settings).unexpected for name, theorem in THEOREMS.items()}
    assert not any(unexpected.values()), {name: words for name, words in unexpected.items() if words}
