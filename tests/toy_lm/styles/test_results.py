"""What is said of results that are made up: scores over seeds, warnings, sentences, tables."""

import pytest
from scipy.special import expit, logit

from dph_theory.support.record import record
from toy_lm.styles import tables
from toy_lm.styles.results import scores, warnings


def end(first, sixteenth, last, **more):
    """What `at_the_end` gives, with Pass@k for k = 1, 16 and 256 only."""
    rest = {"style_entropy": 1.5, "distinct_styles": 4.0, "excess": 0.1, "retention": 1.0}
    return {"pass_at_k": [first, sixteenth, last], **rest, **more}


GOOD = end(0.5, 0.9, 1.0)
QUIET = ([0.0, 0.0, 0.0], [0.9, 0.9, 0.9])


def run(label, train=GOOD, held_out=None, curve=QUIET, **more):
    """A run that the comparison shows: its ends, its excess and its Pass@16 after 0, 10 and 20 updates."""
    excess, passed = curve
    found = {"label": label, "name": label, "seed": 0, "updates": 20, "groups": ["main"], "place": "explored"}
    found |= {"guarantee": 0.9, "rehearsed_pass": 0.95, "guarantee_margin": 0.01}
    found["curve"] = {"update": [0, 10, 20], "excess": excess, "pass_at_16": passed}
    return found | {"train": train, "held_out": held_out or train} | more


def made_up(*runs):
    """Results of these runs from one base at (0.4, 0.9, 1)."""
    base = {"seed": 0, "train": end(0.4, 0.9, 1.0), "held_out": end(0.4, 0.9, 1.0)}
    return {"k": [1, 16, 256], "bases": [base], "runs": list(runs)}


def shown(*runs):
    return tables(record("toy.styles", seed=0, config={}, results=made_up(*runs), findings=()))


def test_runs_of_the_comparison_are_averaged_over_seeds_beside_the_base():
    seeds = run("A"), run("A", end(0.7, 0.9, 1.0), seed=1)
    found = scores(made_up(*seeds, run("B", groups=["places"])), "train")
    assert list(found) == ["base", "A"]
    assert found["base"][256].value == 1
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1, on the logit scale 0.1/0.24.
    score = found["A"][1]
    assert score.value == pytest.approx(0.6)
    assert score.high == pytest.approx(expit(logit(0.6) + 12.7062047 * 0.1 / 0.24), rel=1e-7)
    assert tuple(map(float, found["A"][16])) == (0.9, 0.9, 0.9)
    alone = scores(made_up(run("A")), "held_out")["A"][1]
    assert (alone.low, alone.high) == (-float("inf"), float("inf"))


def test_what_no_seed_has_is_left_out_and_the_others_count():
    runs = [run("A"), run("A", GOOD | {"exploration": 0.5}, seed=1), run("B")]
    found = scores(made_up(*runs), "train")
    assert found["A"]["exploration"].value == 0.5
    assert "exploration" not in found["B"]


def test_warnings_are_counted_and_told_as_before_at_once_late_missing_and_for_nothing():
    runs = [
        run("before", curve=([0.0, 0.2, 0.6], [0.9, 0.9, 0.8])),
        run("at once", curve=([0.0, 0.1, 0.6], [0.9, 0.9, 0.8])),
        run("late", curve=([0.0, 0.1, 0.6], [0.9, 0.8, 0.8])),
        run("none", curve=([0.0, 0.0, 0.0], [0.9, 0.9, 0.8])),
        run("false", curve=([0.0, 0.1, 0.3], [0.9, 0.9, 0.9])),
        run("quiet"),
    ]
    early, found, _ = warnings(made_up(*runs))
    assert (early.rise, found.rise) == (0.1, 0.25)
    assert (len(found.fallen), found.warned_before, found.false_alarms) == (4, 0, 1)
    assert (early.warned_before, early.false_alarms) == (2, 1)


def test_a_table_for_each_split():
    ends = end(0.512, 0.934, 1.0)
    found = shown(run("A", ends), run("B", ends, groups=["places"], strength=0.123))
    assert [len(table.rows) for table in found] == [2, 2]
    first = found[0].rows[1]
    assert first[:2] == ("A", "0.512")
    assert "-" in first
    assert not any("(" in cell for cell in first)
    assert "held-out prompts" in found[1].title
    assert "0.500 (0.500, 0.500)" in shown(run("A"), run("A", seed=1))[0].rows[1]
