import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sampled_counts import base_rates, rows_of, sampled, write_rows

from dph_theory.checkpoints import compare, matched, read_counts
from dph_theory.checkpoints.counts import PromptRow
from dph_theory.checkpoints.measures import all_at_k, consensus, majority_at_k, measures
from dph_theory.intervals import bounded_mean


def test_pass_hat_k_is_the_share_of_draws_that_are_all_correct():
    answers = [1, 1, 1, 0, 0, 1]
    expected = np.mean([all(draw) for draw in itertools.combinations(answers, 3)])
    assert all_at_k(6, 4, 3) == pytest.approx(expected)
    assert all_at_k(6, 2, 3) == 0
    with pytest.raises(ValueError, match="c=7"):
        all_at_k(6, 7, 3)


def by_drawing(said, correct, k):
    """maj@k as the mean over all draws of k answers; of several that lead each is as likely."""
    found = []
    for draw in itertools.combinations(range(len(said)), k):
        often = Counter(said[i] for i in draw)
        leading = [a for a in often if often[a] == max(often.values())]
        right = [[c for s, c in zip(said, correct, strict=True) if s == a] for a in leading]
        found.append(np.mean([np.mean(each) for each in right]))
    return float(np.mean(found))


ANSWERS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=8)


@given(ANSWERS, st.booleans(), st.data())
def test_the_vote_of_k_answers_is_that_of_all_draws(answers, alike, data):
    said = [str(a) for a, _ in answers]
    # An answer is mostly right or wrong whoever gives it, but a verifier may err.
    correct = [int(a < 2 if alike else c) for a, c in answers]
    k = data.draw(st.integers(1, len(said)))
    row = PromptRow("a prompt", len(said), sum(correct), correct=tuple(correct), answers=tuple(said))
    assert majority_at_k(row.votes, k) == pytest.approx(by_drawing(said, correct, k), abs=1e-12)


def test_a_vote_over_thousands_of_answers_is_finite_and_tends_to_the_commonest():
    many = [(450, 0), (600, 600), (50, 50)]
    found = [majority_at_k(many, k) for k in (1, 64, 512)]
    assert found[0] == pytest.approx(650 / 1100)
    assert 0.5 < found[1] < found[2] <= 1 + 1e-9
    with pytest.raises(ValueError, match="k=5 is not allowed: from 1 to 4"):
        majority_at_k([(4, 1)], 5)


def measures_by_name(folder, base, run, k, by=None):
    paths = [write_rows(folder / f"{name}.jsonl", rows) for name, rows in (("base", base), ("run", run))]
    read = read_counts(paths[0], by=by), read_counts(paths[1])
    return {one.name: one for one in measures(matched(*read), k, 1, np.random.default_rng(0))}


def test_styles_are_compared_at_equal_numbers_of_answers(tmp_path):
    def rows(*counts):
        return [{"id": i, "n": 8, "c": 4, "style": c} for i, c in enumerate(counts)]

    base, run = rows({"a": 2, "b": 2}, {"a": 4}, None), rows({"a": 2}, {"a": 2, "b": 1}, {"a": 4})
    found = measures_by_name(tmp_path, base, run, 1)["different styles in 2 answers that have one"]
    # Two of aabb differ with chance 2/3, two of aab with chance 2/3.
    assert found.prompts == 2
    assert (found.base.value, found.run.value) == pytest.approx((4 / 3, 4 / 3))
    assert measures_by_name(tmp_path, rows(None), rows({"a": 2}), 1) == {}


def test_categories_have_intervals_that_hold_for_all_at_once(tmp_path):
    rng = np.random.default_rng(1)
    before, kinds = base_rates(rng, 60), ["algebra"] * 30 + ["logic"] * 30
    pairs = sampled(rng, before, np.where(np.arange(60) < 30, before, before / 4), 8)
    base, run = (rows_of(np.array(8), c) for c in (pairs.base_c, pairs.run_c))
    base = [row | {"kind": kind} for row, kind in zip(base, kinds, strict=True)]
    found = measures_by_name(tmp_path, base, run, 4, by="kind")
    told_of = (f"Pass@{k}, {x}" for x in ("algebra", "logic") for k in (1, 4))
    assert [*found] == ["Pass^4: all of 4 correct", *told_of]
    algebra, logic = found["Pass@1, algebra"].change, found["Pass@1, logic"].change
    assert logic.high < 0
    assert algebra.low < 0 < algebra.high
    alone = bounded_mean((pairs.run_c - pairs.base_c)[30:] / 8, rng)
    assert logic.value == pytest.approx(alone.value)
    assert logic.low < alone.low
    read = read_counts(tmp_path / "base.jsonl", by="kind")
    assert any(one.on_request for one in compare(read, read).measures)


def test_the_vote_stands_beside_coverage_where_both_files_hold_the_answers(tmp_path):
    rows = [{"id": i, "correct": [1, 1, 0, 0], "answer": ["a", "a", "b", str(i)]} for i in range(4)]
    named = [row | {"correct": [0, 0, 1, 0]} for row in rows]
    sides = (rows, named, [{"id": i, "n": 4, "c": 2} for i in range(4)])
    base, run, without = (read_counts(write_rows(tmp_path / f"{i}.jsonl", x)) for i, x in enumerate(sides))
    majority, coverage = consensus(matched(base, run), 4, np.random.default_rng(0))
    votes = [majority_at_k(often, 3) for often in ([(2, 2), (1, 0), (1, 0)], [(2, 0), (1, 1), (1, 0)])]
    assert (majority.name, coverage.base.value, coverage.run.value) == ("maj@3", 1.0, 0.75)
    assert (majority.base.value, majority.run.value) == pytest.approx(tuple(votes))
    assert consensus(matched(base, without), 4, np.random.default_rng(0)) == ()
