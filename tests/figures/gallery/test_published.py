import csv

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_results

from dph_theory.references import REFERENCES
from figures.gallery.published import FIGURE, METHODS, PUBLISHED, published
from figures.records import Records
from toy_lm.styles.results import scores


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("published", tmp_path_factory.mktemp("numbers"))


def test_the_table_is_whole_and_its_sources_are_papers():
    with PUBLISHED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert {row["source"] for row in rows} <= set(REFERENCES)
    for measures in published().values():
        for row in measures.values():
            assert tuple(row) == ("base", *METHODS)
            assert all(0 < value < 100 for value in row.values())


def test_the_published_pattern():
    bird = published()["Bird"]
    assert bird["greedy"]["DPH-JS"] == 62.8
    base = bird["Pass@16"]["base"]
    assert base == 75.0
    assert all(bird["Pass@16"][name] < base and bird["greedy"][name] > 42.4 for name in METHODS)


def test_changes_are_of_each_seed_against_its_own_base(results):
    theirs = results.published_changes
    assert theirs["Bird, Pass@16"]["GRPO"].mean == pytest.approx(67.7 - 75.0)
    assert theirs["out-of-domain maths, average"]["RKL"].mean == pytest.approx(48.45 - 60.35)
    # Both seeds of the small record fall from 0.9 to 0.8 with GRPO.
    ours = results.changes["train"]["GRPO"]
    assert (ours.mean, ours.low, ours.high) == pytest.approx((-10, -10, -10))


def test_curves_are_in_percent_at_the_k_that_were_measured(results):
    assert results.k == (1, 16)
    assert results.curves["base"].mean == pytest.approx([40, 90])
    assert set(results.curves) == {"base", *METHODS}


def test_the_table_has_rank_correlations(results):
    # Made up in the order of METHODS; on Bird the order is GRPO, DAPO, DPH-F, RKL, DPH-JS.
    assert [row[2] for row in FIGURE.table(results).rows] == pytest.approx([0.9, 0.9])


def test_it_draws(results):
    assert_figure_draws("published", results)


def test_the_committed_numbers():
    tiny = Records.load(["styles"]).styles
    found = stored("published")
    grpo = scores(tiny, "train")["GRPO"].pass_at_16
    assert found.curves["GRPO"].mean[-1] == pytest.approx(100 * grpo.mean)
    assert found.curves["GRPO"].high[-1] == pytest.approx(100 * grpo.high)
    changes, of = found.changes["held_out"], scores(tiny, "held_out")
    base = of["base"].pass_at_16.mean
    means = [100 * (of[label].pass_at_16.mean - base) for label in ("DAPO", "RKL 0.3")]
    assert [changes[name].mean for name in ("DAPO", "RKL")] == pytest.approx(means)
    assert all(np.isfinite(change.low) for change in changes.values())
