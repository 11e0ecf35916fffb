import re
from dataclasses import asdict

import pytest

from toy_lm.collapse import Config, tables
from toy_lm.collapse.results import findings, label, optima, select


def test_the_quick_run_is_a_part_of_the_full_one():
    quick, full = asdict(Config.quick()), asdict(Config())
    for name, value in quick.items():
        assert set(value) <= set(full[name]) if isinstance(value, tuple) else value <= full[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("starts", 0),
        ("rounds", 0),
        ("strengths", ()),
        ("strengths", (1.0, -1.0)),
        ("alphas", (1.0,)),
        ("targets", (0.0,)),
        ("random_alphas", (float("nan"),)),
        ("random_targets", (0.3,)),
    ],
)
def test_bad_configurations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        Config(**{name: value})


def test_optima_come_with_rising_strength_and_rows_name_their_objective(small_record):
    reference = small_record["results"]["reference"]
    strengths = [fit["inverse_beta"] for fit in optima(reference, "homogeneous")]
    assert strengths == sorted(strengths)
    assert label(optima(reference, "homogeneous")[-1]) == "1/beta = 10"
    assert [label(fit) for fit in select(reference["fits"], method="closed form")] == ["forward KL"] * 2
    assert {label(rate) for rate in small_record["results"]["random"][0]["rates"]} == {
        "mu = 0.999", "forward KL", "alpha = 0.5", "E[v]",
    }  # fmt: skip


def numbers(sentence):
    return [float(found) for found in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results(small_record):
    results = small_record["results"]
    reference = results["reference"]
    reverse, forward, ascent = findings(results)
    assert small_record["findings"] == [reverse, forward, ascent]
    last = [optima(reference, family)[-1] for family in ("homogeneous", "inhomogeneous")]
    kept = [round(fit[name], digits) for fit in last for name, digits in (("effective", 2), ("validity", 3))]
    assert numbers(reverse)[-5:] == [*kept, round(reference["target"]["effective"], 2)]
    (best,) = select(reference["fits"], objective="forward_kl", family="homogeneous")
    assert numbers(forward)[:2] == [round(best["effective"], 2), 0.283]
    assert numbers(ascent)[:2] == [1, 10]
    for fit in select(reference["fits"], method="ascent"):
        fit["is_global"] = True
    assert numbers(findings(results)[2])[0] == 0


def row(table, start):
    """The cells of the row whose first cell is this."""
    (found,) = [cells for cells in table.rows if cells[0] == start]
    return list(found)


def test_every_fit_of_the_reference_has_a_row(small_record):
    homogeneous, inhomogeneous, *_ = tables(small_record)
    assert row(homogeneous, "1/beta = 10")[1:3] == ["0.9997", "0.9997"]
    assert row(homogeneous, "1/beta = 4.5")[-2:] == ["+0.251", "+0.251"]
    assert row(homogeneous, "1/beta = 4")[-2:] == ["reached", "reached"]
    assert row(homogeneous, "alpha = 0.5")[6] == "7/7 (Dirac)"
    assert row(homogeneous, "forward KL")[4:] == ["0.8881", "1.2045", "-", "-", "-", "-"]
    assert float(row(homogeneous, "E[v]")[1]) > 0.99
    assert row(inhomogeneous, "1/beta = 10")[3] == "5.8095"


def test_jumps(small_record):
    table = tables(small_record)[2]
    assert row(table, "homogeneous")[1:3] == ["4 and 4.5", "4.1755"]


def test_targets_and_what_was_reached(small_record):
    table = tables(small_record)[3]
    assert row(table, "0.7") == ["0.7", "3.8899", "0.0873", "0.8526"]


def test_rates_of_collapse(small_record):
    found = tables(small_record)
    assert len(found) == 4 + 4
    rates = small_record["results"]["random"][0]["rates"]
    (rate,) = select(rates, family="homogeneous", objective="reward")
    cells = row(found[4], "E[v]")
    assert cells[1:3] == ["ascent", f"{rate['collapsed']}/1"]
    assert cells[4] == f"{rate['effective_kept']:.3f}"
    assert cells[-2:] == ["-", "-"]
    assert found[-1].title == "random counts, inhomogeneous bigrams; 90 of 729 words valid; means over bases"
