from dataclasses import replace

import numpy as np
import pytest
from support.small_confrontation import runs

from dph_theory.aggregates import interquartile_mean
from dph_theory.counts.estimate import Estimate
from dph_theory.intervals import mean_interval
from figures.runs import numbers
from figures.runs.plates import PLATES


def test_seeds_are_averaged_and_a_single_run_keeps_its_own_interval():
    seeds, (single,) = runs().by_label.values()
    assert numbers.label_estimate((single,), numbers.kept) == single.found.kept.kept
    rates = [0.2, 0.6]
    both = [replace(run, found=replace(run.found, styles=None)) for run in seeds]
    by_rate = {id(run): rate for run, rate in zip(both, rates, strict=True)}
    found = numbers.label_estimate(both, lambda run: by_rate[id(run)], mean_interval)
    assert (found.value, found.high) == pytest.approx((0.4, float(mean_interval(rates).high)))
    assert numbers.label_estimate(both, numbers.kinds) is None


@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.name)
def test_every_plate_has_a_table_that_names_every_label(plate):
    table = plate.table(runs())
    words = " ".join([*table.head, *(str(row[0]) for row in table.rows)])
    assert "GRPO" in words
    assert "mine" in words
    assert all(len(row) == len(table.head) for row in table.rows)


def test_the_numbers_are_those_of_the_runs():
    given = runs()
    first = given.runs[0].found
    shown = numbers.pass_at_k(given)
    assert [row[0] for row in shown.rows] == [1, 2, 4, 8, 16]
    assert shown.rows[2][1] == first.curves.base[3]
    assert shown.rows[2][3] == first.curves.run[3]
    assert numbers.training(given).rows[0][:2] == ("GRPO", 4)
    assert numbers.profiles(given).rows[2][1] == 0.5
    grpo, mine = numbers.aggregates(given).rows
    assert isinstance(grpo[2], Estimate)
    assert mine[:3] == ("mine", 1, interquartile_mean(np.linspace(0, 1, 50)[None] ** 3))
