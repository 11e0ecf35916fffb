"""Which right answers are left: agreement, luck that is drawn once a run, and what is said of it."""

import itertools

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.sampled_counts import write_rows

from dph_theory.checkpoints import Counts, compare, compare_runs
from dph_theory.checkpoints.answers import (
    agreement_with_other_prompts,
    answer_agreement,
    answer_codes,
    answers_left,
    majority_answers,
    run_agreement,
    shuffled,
    styles_left,
)
from dph_theory.checkpoints.cli import compare_command
from dph_theory.checkpoints.counts import prompt_row

CODES = st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=4).map(np.array)


@given(CODES, st.booleans(), st.randoms())
def test_agreement_is_that_of_all_pairs_at_different_places(codes, same, random):
    other = codes if same else np.array([random.sample([*line], 4) for line in codes.tolist()])
    for found, one, two in zip(answer_agreement(codes, other), codes, other, strict=True):
        pairs = [
            a == b
            for (i, a), (k, b) in itertools.product(enumerate(one), enumerate(two))
            if i != k and min(a, b) >= 0
        ]
        assert found == pytest.approx(np.mean(pairs)) if pairs else np.isnan(found)


@given(CODES, st.integers(0, 99))
def test_shuffling_keeps_each_prompts_answers_and_who_solves_it(won, seed):
    dealt = shuffled(won, np.random.default_rng(seed))
    assert (np.sort(dealt, axis=0) == np.sort(won, axis=0)).all()
    assert ((dealt < 0) == (won < 0)).all()


PROMPTS, STYLES, RUNS, PLACES = 60, 5, 8, 10


def world(rng):
    """Which strategies are right, and a base with a policy of its own on each prompt."""
    right = rng.random((PROMPTS, STYLES)) < 0.6
    right[:, 0] = True
    base = rng.dirichlet(np.ones(STYLES), PROMPTS)
    return right, base * right / (base * right).sum(axis=1, keepdims=True)


def policies(account, right, base, rng):
    """The policy of a run on each prompt, by account."""
    if account == "kept":
        return base
    if account == "likeliest":
        return np.eye(STYLES)[base.argmax(axis=1)]
    if account == "a lottery a prompt":
        return np.eye(STYLES)[[rng.choice(STYLES, p=p) for p in base]]
    return np.eye(STYLES)[np.full(PROMPTS, rng.integers(STYLES))]


def answered(policy, right, rng, places=PLACES):
    """Rows of answers drawn from a policy: prompt, verdict, what was said, by which strategy."""
    rows = []
    for i, p in enumerate(policy):
        said = rng.choice(STYLES, places, p=p)
        verdicts = right[i, said].astype(int).tolist()
        rows.append(
            {
                "id": f"p{i}",
                "correct": verdicts,
                "answer": [f"{i}:{s}" for s in said],
                "style": [f"s{s}" for s in said],
            }
        )
    return rows


def runs_of(account, seed=0):
    rng = np.random.default_rng(seed)
    right, base = world(rng)
    rows = [answered(policies(account, right, base, rng), right, rng) for _ in range(RUNS)]
    return answered(base, right, rng), rows


def read(rows, name):
    return Counts(name, {each["id"]: prompt_row(each) for each in rows}, name)


ACCOUNTS = {
    # account: one answer left, pairs of runs alike, luck drawn once, other prompts name it
    "kept": (False, False, False),
    "likeliest": (True, False, False),
    "a lottery a prompt": (True, False, False),
    "shared": (True, True, True),
}


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_accounts_are_distinguished(account):
    base, runs = runs_of(account)
    one, once, named = ACCOUNTS[account]
    counts = [read(rows, f"run {i}") for i, rows in enumerate(runs)]
    found = compare_runs(read(base, "base"), [(each.name, None, each) for each in counts]).agreed
    assert (found.own > 0.95) == one
    assert (found.p_varied < 0.01) == once
    assert (found.p_named < 0.01) == named
    if account == "likeliest":
        assert found.pairs > 0.99
        assert found.same == (tuple(range(RUNS)),)
    if account == "shared":
        assert (found.least, found.most, found.named) == (0, 1, 1)
        assert 1 <= len(found.same) < RUNS
    beside = answers_left(*([*map(prompt_row, rows)] for rows in (base, runs[0])), np.random.default_rng(0))
    assert beside.prompts > 20
    assert (beside.run.value > 0.95) == one
    if account == "kept":
        assert beside.run.value == pytest.approx(beside.base.value, abs=0.1)
        assert beside.new == pytest.approx(beside.new_by_chance, abs=0.06)
    if account == "likeliest":
        assert beside.led > 0.9 * beside.clear


def test_a_run_says_what_is_left_in_its_first_lines_and_runs_what_sampling_noise_decided(tmp_path):
    base, runs = runs_of("shared", seed=3)
    paths = [
        write_rows(tmp_path / f"{name}.jsonl", rows)
        for name, rows in zip("xabc", [base, *runs], strict=False)
    ]
    told = CliRunner().invoke(compare_command, [*map(str, paths)], obj=None)
    assert told.exit_code == 0, told.output
    assert "Two runs retain the same correct answer to" in told.output
    assert "A run's other prompts name what it keeps on 1.000" in told.output
    alone = CliRunner().invoke(compare_command, [*map(str, paths[:2])])
    assert "One correct answer a prompt left: two agree in 1.000 (base 0." in alone.output
    assert " are new to the base (by chance " in alone.output
    assert "Did consensus gain while coverage fell? " in alone.output
    assert max(map(len, alone.output.splitlines()[:-2])) <= 80
    assert len(alone.output.splitlines()) <= 20


def test_answers_that_only_one_side_has_are_not_compared(tmp_path):
    base, (run, *_) = runs_of("kept")
    plain = [{k: v for k, v in each.items() if k not in ("answer", "style")} for each in base]
    assert compare(read(plain, "base"), read(run, "run")).answers_left is None
    assert answer_codes([[prompt_row(each) for each in plain]]) is None


def test_named_by_others_leaves_the_prompt_itself_out():
    possible = np.ones((3, 2), bool)
    assert agreement_with_other_prompts(np.array([[0, 0, 1]]), possible) == pytest.approx(1 / 3)
    # Alone it is not named: of two strategies none leads.
    assert agreement_with_other_prompts(np.array([[0, -1, -1]]), possible) == 0.5
    assert np.isnan(agreement_with_other_prompts(np.array([[0, 0, 0]]), possible[:, :1]))


def test_the_style_that_is_left_is_that_of_the_answer_that_is_left():
    codes, kinds = np.array([[0, 1, 1, -1]]), np.array([[2, 0, 0, -1]])
    won, possible = styles_left([codes], [kinds])
    assert (won.tolist(), possible.tolist()) == ([[0]], [[True, False, True]])
    assert majority_answers(np.array([[0, -1, -1]])).tolist() == [-1]
    assert run_agreement([codes, codes]).varied is None
