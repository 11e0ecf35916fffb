import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sampled_counts import base_rates, sampled, write_rows

from dph_theory import exact_pass_at_k
from dph_theory.counts import Matched, confront, matched, read_counts
from dph_theory.counts.measures import all_at_k, by_category, majority_at_k, measures
from dph_theory.counts.pairs import votes
from dph_theory.counts.rates import solved_beyond


def test_pass_hat_k_is_the_share_of_draws_that_are_all_correct():
    answers = [1, 1, 1, 0, 0, 1]
    wanted = np.mean([all(draw) for draw in itertools.combinations(answers, 3)])
    assert all_at_k(6, 4, 3) == pytest.approx(wanted)
    assert all_at_k(6, 2, 3) == 0
    with pytest.raises(ValueError, match="c=7"):
        all_at_k(6, 7, 3)


def by_drawing(said, correct, k):
    """maj@k as the mean over all draws of k answers; of several that lead each is as likely."""
    found = []
    for draw in itertools.combinations(range(len(said)), k):
        often = Counter(said[i] for i in draw)
        leading = [a for a in often if often[a] == max(often.values())]
        found.append(
            np.mean([np.mean([c for s, c in zip(said, correct, strict=True) if s == a]) for a in leading])
        )
    return float(np.mean(found))


@given(
    answers=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=8),
    alike=st.booleans(),
    data=st.data(),
)
def test_the_vote_of_k_answers_is_that_of_all_draws(answers, alike, data):
    said = [a for a, _ in answers]
    # An answer is mostly right or wrong whoever gives it, but a verifier may err.
    correct = [a < 2 for a in said] if alike else [c for _, c in answers]
    k = data.draw(st.integers(1, len(said)))
    assert majority_at_k(votes(zip(said, correct, strict=True)), k) == pytest.approx(
        by_drawing(said, correct, k), abs=1e-12
    )


def test_a_vote_over_thousands_of_answers_is_finite_and_tends_to_the_commonest():
    many = [(450, 0), (600, 600), (50, 50)]
    found = [majority_at_k(many, k) for k in (1, 64, 512)]
    assert found[0] == pytest.approx(650 / 1100)
    assert 0.5 < found[1] < found[2] <= 1 + 1e-9
    with pytest.raises(ValueError, match="k=5 is not allowed: from 1 to 4"):
        majority_at_k([(4, 1)], 5)


@pytest.mark.parametrize(("n", "k", "shape"), [(8, 64, (0.4, 0.6)), (16, 32, (2, 2)), (16, 8, (3, 0.6))])
def test_pass_at_k_beyond_n_covers_the_truth_and_is_wide_where_little_is_known(n, k, shape):
    rng, trials, inside = np.random.default_rng(k), 25, 0
    truth = exact_pass_at_k(rng.beta(*shape, 200_000), k).mean()
    for _ in range(trials):
        found = solved_beyond(np.full(40, n), rng.binomial(n, rng.beta(*shape, 40)), k)
        assert found.low <= found.value <= found.high
        inside += found.low <= truth <= found.high
    assert inside / trials >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)
    nearer = solved_beyond(np.full(40, n), rng.binomial(n, 0.1, 40), n)
    further = solved_beyond(np.full(40, n), rng.binomial(n, 0.1, 40), 50 * n)
    assert further.value > nearer.value


def test_answers_alike_within_categories_need_wider_intervals():
    rng, trials = np.random.default_rng(2), 30
    kinds = np.repeat([f"kind {i}" for i in range(20)], 10)
    inside = {"prompts": 0, "clusters": 0}
    for _ in range(trials):
        # Of each category all prompts rise, or all fall; on average none changes.
        after = np.repeat(rng.choice([0.2, 0.8], 20), 10)
        pairs = sampled(rng, np.full(200, 0.5), after, 8).pairs
        whole = by_category(pairs, kinds.tolist(), 8, rng)[-1].first
        alone = by_category(pairs, ["one"] * 200, 8, rng)[0].first
        inside["clusters"] += whole.low <= 0 <= whole.high
        inside["prompts"] += alone.low <= 0 <= alone.high
    assert inside["clusters"] / trials >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)
    assert inside["prompts"] / trials < 0.7


def test_measures_cover_their_truth():
    rng, trials, k = np.random.default_rng(0), 60, 4

    def drawn(prompts):
        before = base_rates(rng, prompts)
        return Matched((), (), 0, 0, sampled(rng, before, 0.8 * before, 10).pairs)

    truth = measures(drawn(100_000), k, rng)
    found = [measures(drawn(40), k, rng) for _ in range(trials)]
    assert [one.name for one in truth] == ["Pass^4: all of 4 correct"]
    for place in range(len(truth)):
        for name in ("base", "run", "change"):
            wanted = getattr(truth[place], name).value
            seen = [getattr(one[place], name) for one in found]
            inside = np.mean([e.low <= wanted <= e.high for e in seen])
            assert inside >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials), (place, name)


def test_categories_are_told_apart_with_wider_intervals_than_alone(tmp_path):
    rng = np.random.default_rng(1)
    before = base_rates(rng, 60)
    kinds = ["algebra"] * 30 + ["logic"] * 30
    pairs = sampled(rng, before, np.where(np.arange(60) < 30, before, before / 4), 8).pairs
    algebra, logic, whole = by_category(pairs, kinds, 4, rng)
    assert whole.prompts == 60
    assert (algebra.category, algebra.prompts, logic.k) == ("algebra", 30, 4)
    assert logic.first.high < 0
    assert algebra.first.low < 0 < algebra.first.high
    alone = by_category(pairs.chosen(np.arange(30, 60)), kinds[30:], 4, rng)[0]
    assert logic.last.low < alone.last.low
    assert logic.last.value == pytest.approx(alone.last.value)
    rows = [{"id": i, "n": 8, "c": 4, "kind": kind} for i, kind in enumerate(kinds[20:40])]
    path = write_rows(tmp_path / "base.jsonl", rows)
    base = read_counts(path, by="kind")
    found = confront(base, base, matched(base, base), draws=20)
    assert [c.category for c in found.categories] == ["algebra", "logic", "all, categories as clusters"]
    assert confront(base, read_counts(path), matched(base, read_counts(path)), draws=20).categories
    with pytest.raises(ValueError, match="by='topic' is not allowed: a field that rows"):
        read_counts(path, by="topic")


def test_the_vote_is_told_where_both_files_hold_the_answers(tmp_path):
    rows = [{"id": i, "correct": [1, 1, 0, 0], "answer": ["a", "a", "b", str(i)]} for i in range(4)]
    given = read_counts(write_rows(tmp_path / "given.jsonl", rows))
    found = measures(matched(given, given), 3, np.random.default_rng(0), beyond=[9])
    told = {one.name: one for one in found}
    wanted = majority_at_k([(2, 2), (1, 0), (1, 0)], 3)
    assert told["maj@3: the commonest of 3 correct"].base.value == pytest.approx(wanted)
    assert told["Pass@9 by a fitted law of rates"].run.low > 0.5
    without = read_counts(
        write_rows(tmp_path / "without.jsonl", [{"id": i, "n": 4, "c": 2} for i in range(4)])
    )
    names = [one.name for one in measures(matched(given, without), 3, np.random.default_rng(0))]
    assert not any(name.startswith("maj") for name in names)
    for answer, words in ((["a"], "1 answers"), ("aaaa", "a list")):
        with pytest.raises(ValueError, match=f"answer=.*{words}"):
            read_counts(write_rows(tmp_path / "wrong.jsonl", [rows[0] | {"answer": answer}]))
