import itertools
import re
from copy import deepcopy

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, stored

from figures.plates.collapse import FIGURE
from figures.results import store
from figures.results.experiments import records
from toy_lm.collapse import read


@pytest.fixture
def results():
    return deepcopy(stored("collapse")["results"])


def filtered_law(initial, transition, length):
    """The laws of the balanced words of brackets under a bigram base, by listing all words."""
    masses = []
    for word in itertools.product((0, 1), repeat=length):
        heights = np.cumsum([1 if symbol == 0 else -1 for symbol in word])
        if heights.min() >= 0 and heights[-1] == 0:
            steps = [transition[one][other] for one, other in itertools.pairwise(word)]
            masses.append(initial[word[0]] * np.prod(steps))
    masses = np.array(masses)
    return masses / masses.sum(), masses.sum()


def test_the_target_is_the_filtered_model(results):
    reference = read(records(["collapse"])["collapse"]).reference
    base = reference.target
    law, rate = filtered_law(base.initial, base.transition, reference.length)
    assert len(law) == 14
    assert base.base_rate == pytest.approx(rate, abs=1e-12)
    assert results["target"]["top_share"] == pytest.approx(law.max(), abs=1e-12)
    assert results["target"]["entropy"] == pytest.approx(-(law * np.log(law)).sum(), abs=1e-12)


def test_what_has_collapsed_covers_its_word_alone(results):
    family = next(f for f in results["families"] if f["name"] == "homogeneous")
    assert family["global"]["top_share"][-1] > 0.999
    assert family["global"]["coverage"][-1] == pytest.approx(results["target"]["top_share"], abs=1e-12)
    assert family["global"]["entropy"][-1] < 0.01


def test_the_columns_run_along_their_parameter_up_to_forward_kl(results):
    for family in results["families"]:
        for name in ("global", "ascent", "alpha"):
            assert family[name]["at"] == sorted(family[name]["at"])
        assert family["alpha"]["at"][-1] == 1


def test_the_findings_hold_the_jumps_and_what_ascent_missed(results):
    family = results["families"][0]
    assert re.findall(r"\d\.\d+", FIGURE.findings(results)[0]) == [f"{family['jumps'][0]:.4g}", "4.5"]
    family["jumps"], family["missed"] = [], [4.25, 5.5]
    assert re.findall(r"\d\.\d+|none", FIGURE.findings(results)[0]) == ["none", "4.25", "5.5"]


def test_a_quick_run_is_read_as_the_full_one(tmp_path):
    record = records(["collapse"])["collapse"]
    reference = record["results"]["reference"]
    # A quick run has few strengths and one alpha.
    few = sorted({f["inverse_beta"] for f in reference["fits"] if "inverse_beta" in f})[-3:]
    reference["fits"] = [
        f for f in reference["fits"] if f.get("inverse_beta", few[0]) in few and f.get("alpha", 0.5) == 0.5
    ]
    store.save("toy_collapse_quick", record, tmp_path)
    numbers = FIGURE.numbers(quick=True, folder=tmp_path)
    assert all(f["global"]["at"] == few for f in numbers["results"]["families"])
    assert all(f["alpha"]["at"] == [0.5, 1.0] for f in numbers["results"]["families"])
    assert_figure_draws("collapse", numbers)


def test_the_committed_numbers():
    assert_figure_draws("collapse")
