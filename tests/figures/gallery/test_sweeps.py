from dataclasses import asdict, replace

import pytest
from support.drawing_checks import assert_figure_draws
from support.small_experiment_records import quick_results

from dph_theory.losses import METHODS
from figures.gallery.sweeps import FIGURE, Anchored, worth
from toy_lm.strategies import Config


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("sweeps", tmp_path_factory.mktemp("numbers"))


def point(place, divergence, first, sixteenth):
    return Anchored(place=place, divergence=divergence, strength=1.0, pass_at_1=first, pass_at_k=sixteenth)


def test_place_and_divergence_are_told_apart():
    points = [
        point("D_pef", "forward KL", 0.5, 0.9),
        point("D_pef", "reverse KL", 0.5, 0.7),
        point("all prompts", "forward KL", 0.4, 0.95),
        point("all prompts", "reverse KL", 0.5, 0.85),
    ]
    assert asdict(worth(points, 1.0)) == pytest.approx({"spread": 0.2, "gain_1": -0.05, "gain_k": 0.1})
    assert worth(points[:2], 1.0) is None
    assert worth(points, 2.0) is None


def test_a_strong_anchor_on_all_prompts_holds_the_policy_at_the_base(results):
    base, gaps = results.strategies.base, {}
    for p in results.strategies.points:
        if (p.place, p.divergence) == ("all prompts", "forward KL"):
            gaps[p.strength] = abs(p.pass_at_1 - base.pass_at_1) + abs(p.pass_at_k - base.pass_at_k)
    assert gaps[3.0] < gaps[0.1]


def test_the_tiny_transformer_is_read_from_its_first_base(results):
    found = results.styles
    assert asdict(found.base) == {"pass_at_1": 0.4, "pass_at_k": 0.9}
    assert asdict(found.none) == pytest.approx({"pass_at_1": 0.5, "pass_at_k": 0.82})
    # Made up: all prompts cost .02 of Pass@1 and give .01 of Pass@16; divergences are .02 apart.
    (row,) = (r for r in FIGURE.table(results).rows if r[:2] == ("tiny transformer, one seed", "0.03"))
    assert row[2:] == pytest.approx((0.06, 0.01, -0.02))


def test_the_table_has_no_worth_where_one_place_alone_was_tried(results):
    points = tuple(replace(p, place="D_pef") for p in results.styles.points)
    changed = replace(results, styles=replace(results.styles, points=points))
    assert {row[0] for row in FIGURE.table(changed).rows} == {"strategies"}


def test_the_caption_names_the_alphas():
    assert Config().alpha == 0.5
    assert METHODS["DPH-alpha"].rehearsal.divergence.alpha == 0.2
    assert "the alpha-divergence has alpha = 0.5" in FIGURE.caption
    assert "the tiny transformer, trained from one base at two strengths with alpha = 0.2" in FIGURE.caption


def test_it_draws(results):
    assert_figure_draws("sweeps", results)


def test_each_row_draws_the_measure_on_its_axis(results):
    drawing = FIGURE.draw(Config(), results)
    for ax, measure in zip(drawing.axes[::2], ("pass_at_k", "pass_at_1"), strict=True):
        (line,) = (one for one in ax.get_lines() if one.get_label() == "forward KL")
        wanted = [
            getattr(p, measure)
            for p in results.strategies.points
            if (p.place, p.divergence) == ("D_pef", "forward KL")
        ]
        assert list(line.get_ydata()) == pytest.approx(wanted)
