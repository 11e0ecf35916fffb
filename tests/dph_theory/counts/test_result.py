import json

import numpy as np
from support.sampled_counts import rows_of, shifted, write_rows

from dph_theory.counts import Confrontation, confront, five_lines, matched, read_counts
from dph_theory.support.files import write_json
from dph_theory.support.frozen import as_json, from_json


def confronted(folder, rng, **options):
    pairs = shifted(rng, 60, 12, 1.0).pairs
    base = read_counts(write_rows(folder / "base.jsonl", rows_of(pairs.base_n, pairs.base_c)))
    run = read_counts(write_rows(folder / "run.jsonl", rows_of(pairs.run_n, pairs.run_c)))
    return confront(base, run, matched(base, run), draws=50, **options)


def test_all_that_is_told_comes_back_from_json_and_repeats_at_its_seed(tmp_path):
    found = confronted(tmp_path, np.random.default_rng(0), power=[(0.05, 1)], seed=3)
    write_json(tmp_path / "found.json", as_json(found))
    assert from_json(Confrontation, json.loads((tmp_path / "found.json").read_text())) == found
    again = confronted(tmp_path, np.random.default_rng(0), power=[(0.05, 1)], seed=3)
    assert again == found
    assert found.prompts == 60
    assert found.curves.k == tuple(range(1, 13))
    assert found.best_law in {line.law for line in found.laws}
    assert found.spending is None


def test_checkpoints_that_solve_everything_or_nothing_are_told_too(tmp_path):
    paths = [write_rows(tmp_path / f"{c}", rows_of(np.full(3, 4), np.full(3, c))) for c in (0, 4)]
    nothing, everything = map(read_counts, paths)
    for base, run in ((nothing, everything), (everything, nothing), (everything, everything)):
        found = confront(base, run, matched(base, run), draws=20)
        write_json(tmp_path / "found.json", as_json(found))
        assert len(five_lines(found)) == 5


def test_k_is_what_is_asked_else_what_the_rows_ask(tmp_path):
    pairs = shifted(np.random.default_rng(1), 20, 12, 1.0).pairs
    rows = [r | {"k": [1, 4, 8]} for r in rows_of(pairs.base_n, pairs.base_c)]
    base = read_counts(write_rows(tmp_path / "base.jsonl", rows))
    run = read_counts(write_rows(tmp_path / "run.jsonl", rows_of(pairs.run_n, pairs.run_c)))
    both = matched(base, run)
    assert confront(base, run, both, draws=20).curves.k == (1, 4, 8)
    assert confront(base, run, both, ks=(1, 2), draws=20).curves.k == (1, 2)
