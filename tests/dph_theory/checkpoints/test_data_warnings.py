"""Data that are not what they say: answers that repeat, shared random numbers, equal files and texts."""

import numpy as np
import pytest

from dph_theory.checkpoints import Counts, compare, compare_runs
from dph_theory.checkpoints.counts import prompt_row
from dph_theory.checkpoints.data_warnings import data_warnings, independent, ordered, shared

PROMPTS = 120


def rates(rng, prompts=PROMPTS):
    return rng.beta(0.6, 1.0, prompts)


def read(verdicts, said=None, name="run", **more):
    rows = {}
    for i, line in enumerate(np.asarray(verdicts)):
        heard = {} if said is None else {"answer": [f"{x}" for x in said[i]]}
        rows[i] = prompt_row({"id": i, "correct": line.astype(int).tolist(), **heard, **more})
    return Counts(name, rows, name)


def drawn(rng, n=32, prompts=PROMPTS):
    """Independent verdicts and answers."""
    verdicts = rng.random((prompts, n)) < rates(rng, prompts)[:, None]
    return verdicts, np.where(verdicts, rng.integers(0, 3, (prompts, n)), rng.integers(3, 6, (prompts, n)))


def lagged(answers, group=8):
    """Groups of which each repeats the one before, shifted by one, as of samplers seeded s, s + 1, ..."""
    return np.hstack([answers[:, i : i + group] for i in range(answers.shape[1] - group + 1)])


@pytest.mark.parametrize("seed", range(3))
def test_lagged_groups_are_found_and_counted(seed):
    rng = np.random.default_rng(seed)
    verdicts, said = drawn(rng, 11)
    for file in (read(lagged(verdicts), lagged(said)), read(lagged(verdicts))):
        assert [*data_warnings([file])] == [
            "run: of 32 answers to a prompt 11 are independent, the others repeat them, "
            "and what is said of more counts repeats"
        ]
    assert not [*data_warnings([read(verdicts, said)])]


def test_shared_random_streams_are_found_and_the_variance_is_theirs():
    rng, n, found = np.random.default_rng(0), 16, []
    for _ in range(300):
        # The k-th answer to every prompt uses the same number.
        found.append((rng.random(n) < rates(np.random.default_rng(1))[:, None]).mean())
    verdicts = rng.random(n) < rates(np.random.default_rng(1))[:, None]
    p = rates(np.random.default_rng(1))
    truth = np.var(found) / ((p * (1 - p)).mean() / n / len(p))
    told = " ".join(data_warnings([read(verdicts)]))
    assert "the k-th answers to all prompts share their random numbers" in told
    # Sixteen streams tell a variance to about a third.
    assert shared(ordered(read(verdicts))[0]) == pytest.approx(truth, rel=0.9)
    assert shared(drawn(rng)[0]) == 1


def test_independent_answers_are_doubted_once_in_a_hundred_times():
    rng, told = np.random.default_rng(2), 0
    for _ in range(60):
        told += bool([*data_warnings([read(*drawn(rng, 12, 40))])])
    assert told <= 4


def test_sorted_verdicts_and_counts_say_nothing_of_the_order():
    verdicts, _ = drawn(np.random.default_rng(3))
    assert ordered(read(np.sort(verdicts))) is None
    counts = Counts("x", {i: prompt_row({"id": i, "n": 4, "c": i % 5}) for i in range(20)}, "x")
    assert ordered(counts) is None
    assert ordered(read(verdicts[:2])) is None


def test_files_that_are_equal_and_prompts_of_one_text_are_named():
    verdicts, _ = drawn(np.random.default_rng(4))
    one, other = read(verdicts, name="a"), read(verdicts[:, ::-1], name="b", prompt="Find  x.")
    told = [*data_warnings([one, other])]
    assert told == [
        "a, b have the same counts of every prompt",
        f"b: {PROMPTS - 1} prompts have the text of another, 1 are different",
    ]
    assert told[0] in compare(other, one).notes
    third = read(drawn(np.random.default_rng(5))[0], name="c")
    several = compare_runs(third, [("a", None, one), ("b", None, other)])
    assert told[0] in several.notes
    assert told[0] in several.summary()


def test_a_distance_at_which_nothing_repeats_is_none():
    codes = ordered(read(*drawn(np.random.default_rng(6), 24)))[1]
    assert independent(codes) == 24
    # Of more than 256 answers it is not looked for.
    assert independent(np.tile(codes, 12)) == 288
