"""Noise that is drawn once a run is told from a draw of each prompt's own."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.run_accounts import runs_of

from dph_theory.checkpoints.answers import answer_codes, majority_answers
from dph_theory.checkpoints.counts import prompt_row

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from run_noise import agreement_with_other_prompts, run_noise, shuffled, styles_left

CODES = st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=4).map(np.array)
ACCOUNTS = {
    # account: luck drawn once, other prompts name it
    "kept": (False, False),
    "likeliest": (False, False),
    "a lottery a prompt": (False, False),
    "shared": (True, True),
}


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_accounts_are_distinguished(account):
    base, runs = runs_of(account)
    codes = answer_codes([[*map(prompt_row, rows)] for rows in runs])
    kinds = [
        np.array([np.where(row["correct"], [int(style[1:]) for style in row["style"]], -1) for row in rows])
        for rows in (base, *runs)
    ]
    numbers = run_noise(codes, styles_left(codes, kinds[1:], kinds[:1]))
    assert (numbers["p_varied"] < 0.01, numbers["p_named"] < 0.01) == ACCOUNTS[account]
    assert (numbers["named"] == 1) == (account == "shared")


@given(CODES, st.integers(0, 99))
def test_shuffling_keeps_each_prompts_answers_and_who_solves_it(won, seed):
    dealt = shuffled(won, np.random.default_rng(seed))
    assert (np.sort(dealt, axis=0) == np.sort(won, axis=0)).all()
    assert ((dealt < 0) == (won < 0)).all()


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
    assert run_noise([codes, codes])["varied"] is None
