import copy

import pytest

from figures.report import guide
from figures.results import store
from toy_lm import strategies
from toy_lm.strategies.summary import directions


@pytest.fixture(scope="module")
def stored():
    return guide.records()


def test_every_experiment_is_answered_from(stored):
    assert {"collapse", "strategies", "styles"} <= set(stored)


def test_a_folder_without_records_gives_none(tmp_path):
    assert guide.records(tmp_path) == {}


def test_another_kind_of_record_is_refused(tmp_path, stored):
    store.save("toy_collapse", stored["strategies"], tmp_path)
    with pytest.raises(ValueError, match=r"record\.kind"):
        guide.records(tmp_path)


def test_every_finding_of_every_experiment_is_quoted(stored):
    page = guide.guide(stored).replace("\\", "")
    for record in stored.values():
        assert all(sentence in page for sentence in record["findings"])


def on_d_pef(record):
    config, results = strategies.read(record)
    return [row for row in directions(config, results.sweep) if row.place == "D_pef"]


def test_the_numbers_are_those_of_the_record(stored):
    page, results = guide.guide(stored), stored["strategies"]["results"]
    grpo = next(m for m in results["methods"] if m["name"] == "GRPO")
    assert f"Pass@1 from {results['base']['pass_at_1']:.3f} to {grpo['pass_at_1']:.3f}" in page
    table = [line for line in page.splitlines() if line.count("|") == 7][2:]
    rows = on_d_pef(stored["strategies"])
    assert len(table) == len(rows)
    for line, row in zip(table, rows, strict=True):
        assert f"| {row.gap:+.3f} |" in line


def test_the_advice_on_the_direction_turns_with_the_numbers(stored):
    turned = copy.deepcopy(stored["strategies"])
    other = {"forward_kl": "reverse_kl", "reverse_kl": "forward_kl"}
    for block in turned["results"]["sweep"]:
        name = block.get("divergence")
        block["divergence"] = other.get(name, name)
    before, after = (guide.guide({**stored, "strategies": r}) for r in (stored["strategies"], turned))
    widest = max(on_d_pef(stored["strategies"]), key=lambda row: abs(row.gap))
    ahead = "the reverse KL keeps more than the forward KL"
    assert (ahead in before) == (widest.gap < 0)
    assert (ahead in before) != (ahead in after)


def test_where_nothing_helps_it_says_so(stored):
    hopeless = copy.deepcopy(stored["strategies"])
    hopeless["results"]["base"].update(pass_at_1=1.0, pass_at_k=1.0)
    page = guide.guide({**stored, "strategies": hopeless})
    assert "no strength of the forward KL that was tried keeps" in page
    assert "No strength that was tried raises both" in page


def scores(low, mean, high):
    return {"pass@1": {"mean": 0.5}, "pass@16": {"low": low, "mean": mean, "high": high}}


def test_the_best_in_the_transformer_is_held_against_the_seeds(stored):
    methods = ("base", "worse", "alike", "best")
    styles = copy.deepcopy(stored["styles"])
    for base_high, words in ((0.85, ""), (0.95, " and the base's")):
        found = (
            scores(0.7, 0.8, base_high),
            scores(0.6, 0.7, 0.89),
            scores(0.8, 0.85, 0.9),
            scores(0.9, 0.95, 1),
        )
        split = {name: {"train": s, "held_out": s} for name, s in zip(methods, found, strict=True)}
        styles["results"]["summary"]["methods"] = split
        said = guide.in_short({**stored, "styles": styles})
        assert (
            f"(0.500 / 0.950), whose interval overlaps those of 1 of the 2 other methods{words}. On" in said
        )


def test_collapse_is_told_by_the_record(stored):
    spared = copy.deepcopy(stored["collapse"])
    for fit in spared["results"]["reference"]["fits"]:
        fit["collapsed"] = False
    assert "collapses onto one answer" not in guide.guide({**stored, "collapse": spared})


def test_the_demo_is_summed_up_once_it_is_there(stored):
    found = {
        "findings": [
            "one difference",
            "Of 3 expected differences 1 was found.",
            "4 predictions: 4 consistent",
        ]
    }
    last = guide.in_short({**stored, "demo": found}).splitlines()[-1]
    assert last == "- `dph demo`: Of 3 expected differences 1 was found. 4 predictions: 4 consistent"
    assert "### `dph demo`\n\n- one difference" in guide.guide({**stored, "demo": found})


def test_in_short_names_the_command_beside_each_number(stored):
    lines = guide.in_short({name: stored[name] for name in stored if name != "demo"}).splitlines()
    assert [line.split("`")[1] for line in lines] == [
        "dph toy strategies",
        "dph toy styles",
        "dph toy collapse",
    ]
