import numpy as np
import pytest
from support.sampled_counts import write_rows

from dph_theory.counts import Pairs, matched, read_counts


def read(folder, name, ids):
    return read_counts(write_rows(folder / name, [{"id": i, "n": 2, "c": 1} for i in ids]))


def test_prompts_are_paired_by_id_whatever_their_order(tmp_path):
    found = matched(read(tmp_path, "base", ["b", 2, "a", 10]), read(tmp_path, "run", [10, "a", 2, "b"]))
    assert [r.id for r in found.base] == [r.id for r in found.run] == [2, 10, "a", "b"]


def test_missing_prompts_are_refused_or_counted(tmp_path):
    base, run = read(tmp_path, "base", ["a", "b", "c"]), read(tmp_path, "run", ["b", "d"])
    with pytest.raises(ValueError, match=r"run lacks 2 of the prompts, such as 'a'; .*base lacks 1"):
        matched(base, run)
    found = matched(base, run, allow_missing=True)
    assert (len(found.counts), found.only_base, found.only_run) == (1, 2, 1)
    with pytest.raises(ValueError, match="at least one prompt in common"):
        matched(base, read(tmp_path, "other", ["z"]), allow_missing=True)


def test_thinning_equalises_answers_and_keeps_rates():
    rng = np.random.default_rng(0)
    pairs = Pairs.of(np.full(4000, 6), 3, 4, 1)
    thin = pairs.thinned(rng)
    assert (thin.base_n == 4).all()
    assert (thin.run_n == 4).all()
    assert (thin.run_c == 1).all()
    assert thin.base_c.mean() == pytest.approx(2, abs=0.05)


def test_counts_above_n_are_refused():
    with pytest.raises(ValueError, match="run_c=3"):
        Pairs.of([2, 2], [1, 1], [2, 2], [0, 3])
