"""Which right answers are left: agreement, luck that is drawn once a run, and what is said of it."""

import itertools

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.run_accounts import RUNS, runs_of
from support.sampled_counts import write_rows

from dph_theory.checkpoints import Counts, compare, compare_runs
from dph_theory.checkpoints.answers import answer_agreement, answer_codes, answers_left
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


def read(rows, name):
    return Counts(name, {each["id"]: prompt_row(each) for each in rows}, name)


ONE_LEFT = {"kept": False, "likeliest": True, "a lottery a prompt": True, "shared": True}
"""Whether a run is left with one correct answer to a prompt, by account."""


@pytest.mark.parametrize("account", ONE_LEFT)
def test_the_accounts_are_distinguished(account):
    base, runs = runs_of(account)
    one = ONE_LEFT[account]
    counts = [read(rows, f"run {i}") for i, rows in enumerate(runs)]
    found = compare_runs(read(base, "base"), [(each.name, None, each) for each in counts]).agreed
    assert (found.own > 0.95) == one
    if account == "likeliest":
        assert found.pairs > 0.99
        assert found.same == (tuple(range(RUNS)),)
    if account == "shared":
        assert (found.least, found.most) == (0, 1)
        assert 1 <= len(found.same) < RUNS
    beside = answers_left(*([*map(prompt_row, rows)] for rows in (base, runs[0])), np.random.default_rng(0))
    assert beside.prompts > 20
    assert (beside.run.value > 0.95) == one
    if account == "kept":
        assert beside.run.value == pytest.approx(beside.base.value, abs=0.1)
        assert beside.new == pytest.approx(beside.new_by_chance, abs=0.06)
    if account == "likeliest":
        assert beside.led > 0.9 * beside.clear


def test_a_run_says_what_is_left_in_its_first_lines_and_runs_what_they_share(tmp_path):
    base, runs = runs_of("shared", seed=3)
    paths = [
        write_rows(tmp_path / f"{name}.jsonl", rows)
        for name, rows in zip("xabc", [base, *runs], strict=False)
    ]
    told = CliRunner().invoke(compare_command, [*map(str, paths)], obj=None)
    assert told.exit_code == 0, told.output
    assert "Two runs retain the same correct answer to" in told.output
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
