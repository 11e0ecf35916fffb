import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, stored

from figures import records
from figures.gallery.collapse import FIGURE
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    return stored("collapse")


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
    reference = Records.load(["collapse"]).collapse.reference
    base = reference.target
    law, rate = filtered_law(base.initial, base.transition, reference.length)
    assert len(law) == 14
    assert base.base_rate == pytest.approx(rate, abs=1e-9)
    assert results.target["entropy"] == pytest.approx(-(law * np.log(law)).sum(), abs=1e-7)


def test_what_has_collapsed_covers_its_word_alone(results):
    family = next(f for f in results.families if f.name == "homogeneous")
    target = Records.load(["collapse"]).collapse.reference.target
    assert family.optima.coverage[-1] == pytest.approx(target.top_share, abs=1e-7)
    assert family.optima.entropy[-1] < 0.01


def test_the_columns_run_along_their_parameter_up_to_forward_kl(results):
    for family in results.families:
        for columns in (family.optima, family.ascent, family.alpha):
            assert (np.diff(columns.at) > 0).all()
        assert family.alpha.at[-1] == 1


def test_the_table_has_the_jumps_and_what_ascent_missed(results):
    family = results.families[0]
    assert FIGURE.table(results).rows[0][1:] == (f"{family.jumps[0]:.4g}", "4.5")
    changed = replace(results, families=(replace(family, jumps=(), missed=(4.25, 5.5)),))
    assert FIGURE.table(changed).rows[0][1:] == ("none", "4.25, 5.5")


def test_a_quick_run_is_read_as_the_full_one(tmp_path):
    record = Records.load(["collapse"]).of("collapse")
    reference = record["results"]["reference"]
    # A quick run has few strengths and one alpha.
    few = sorted({f["inverse_beta"] for f in reference["fits"] if "inverse_beta" in f})[-3:]
    reference["fits"] = [
        f for f in reference["fits"] if f.get("inverse_beta", few[0]) in few and f.get("alpha", 0.5) == 0.5
    ]
    records.save("toy_collapse_quick", record, tmp_path)
    _, results = FIGURE.read(FIGURE.numbers(quick=True, folder=tmp_path))
    assert all(list(family.optima.at) == few for family in results.families)
    assert all(list(family.alpha.at) == [0.5, 1.0] for family in results.families)
    assert_figure_draws("collapse", results)
