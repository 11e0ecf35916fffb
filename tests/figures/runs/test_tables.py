import json
from dataclasses import replace

import numpy as np
import pytest
from support.small_confrontation import runs, written

from dph_theory.intervals import Estimate, interquartile_mean, mean_interval
from figures.runs import tables
from figures.runs.figures import OWN_FIGURES
from figures.runs.tables import read_runs


def test_runs_have_labels_and_logs(tmp_path):
    base, run = written(tmp_path)
    labels = tmp_path / "labels.yaml"
    labels.write_text("run.jsonl: GRPO\n")
    found = read_runs([base, run, run], labels)
    assert list(found.by_label) == ["GRPO"]
    assert len(found.by_label["GRPO"]) == 2
    assert found.base_rates.shape == found.runs[0].rates.shape == (50,)
    assert found.runs[0].log == ()


def test_runs_of_one_file_name_are_no_seeds_unless_labels_say_so(tmp_path):
    for seed in "ab":
        (tmp_path / seed).mkdir()
        base, run = written(tmp_path / seed)
    given = [base, tmp_path / "a" / "run.jsonl", run]
    found = read_runs(given)
    assert list(found.by_label) == ["a/run", "b/run"]
    assert set(found.hashes) == {"base.jsonl", "a/run.jsonl", "b/run.jsonl"}
    labels = tmp_path / "labels.yaml"
    labels.write_text("a/run.jsonl: x\nb/run.jsonl: x\n")
    assert list(read_runs(given, labels).by_label) == ["x"]


def test_seeds_that_tie_have_no_interval_rather_than_one_of_no_width():
    seeds, _ = runs().by_label.values()
    found = tables.label_estimate(seeds, lambda run: 0.53)
    assert (found.value, found.low, found.high) == (0.53, -np.inf, np.inf)
    assert tables.pass_at_k(runs()).rows[0][2] == seeds[0].found.curves.run[0]


def test_wrong_labels_and_too_few_runs_are_refused(tmp_path):
    base, run = written(tmp_path)
    labels = tmp_path / "labels.yaml"
    wrong = {"other: x": "one of base.jsonl, run.jsonl", "- a": "a label by name", "{": "YAML"}
    for text, words in wrong.items():
        labels.write_text(text)
        with pytest.raises(ValueError, match=words):
            read_runs([base, run], labels)
    with pytest.raises(ValueError, match="a base and at least one run"):
        read_runs([base])


def test_a_training_log_is_read_from_a_run_folder(tmp_path):
    from figures.runs.tables import _log

    (tmp_path / "training.json").write_text(json.dumps({"results": {"log": [{"step": 1, "reward": 0.5}]}}))
    assert _log(tmp_path) == ({"step": 1, "reward": 0.5},)


def test_seeds_are_averaged_and_a_single_run_keeps_its_own_interval():
    seeds, (single,) = runs().by_label.values()
    assert tables.label_estimate((single,), tables.kept) == single.found.kept.kept
    rates = [0.2, 0.6]
    both = [replace(run, found=replace(run.found, styles=None)) for run in seeds]
    by_rate = {id(run): rate for run, rate in zip(both, rates, strict=True)}
    found = tables.label_estimate(both, lambda run: by_rate[id(run)], mean_interval)
    assert (found.value, found.high) == pytest.approx((0.4, float(mean_interval(rates).high)))
    assert tables.label_estimate(both, tables.kinds) is None


@pytest.mark.parametrize("figure", OWN_FIGURES, ids=lambda figure: figure.name)
def test_every_figure_has_a_table_that_names_every_label(figure):
    table = figure.table(runs())
    words = " ".join([*table.head, *(str(row[0]) for row in table.rows)])
    assert "GRPO" in words
    assert "mine" in words
    assert all(len(row) == len(table.head) for row in table.rows)


def test_the_numbers_are_those_of_the_runs():
    given = runs()
    first = given.runs[0].found
    shown = tables.pass_at_k(given)
    assert [row[0] for row in shown.rows] == ["1", "2", "4", "8", "16"]
    # Commands are named by k, not by the row's number.
    assert ("passFourBase", f"{shown.rows[2][1]:.4g}") in list(shown.commands("pass"))
    assert shown.rows[2][1] == first.curves.base[3]
    assert shown.rows[2][3] == first.curves.run[3]
    assert tables.training(given).rows[0][:2] == ("GRPO", 4)
    assert tables.profiles(given).rows[2][1] == 0.5
    grpo, mine = tables.aggregates(given).rows
    assert isinstance(grpo[2], Estimate)
    assert mine[:3] == ("mine", 1, interquartile_mean(np.linspace(0, 1, 50)[None] ** 3))


def test_laws_stand_in_the_order_of_their_scores():
    given = runs()
    names = tables.law_names(given)
    best = {line.law: line.held_out.value for line in given.runs[0].found.laws}
    assert [best[name] for name in names] == sorted(best.values(), reverse=True)


def test_the_interval_of_a_rate_stays_within_0_and_1():
    rate = tables.logged_interval("reward", [0.2, 0.5])
    assert 0 <= rate.low < 0.35 < rate.high <= 1
    # A reward of several parts is no rate, nor is an excess KL.
    for key, values in (("reward", [0.2, 1.5]), ("collapse/excess_kl", [0.2, 0.5])):
        found = tables.logged_interval(key, values)
        assert (found.low, found.high) == pytest.approx(tuple(map(float, mean_interval(values)))[1:])
