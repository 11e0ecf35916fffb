import pytest
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.figure import record
from figures.plates.way_back import FIGURE


def stored(forms=("sequence_kl", "k3_corrected", "rehearsal", "alpha_dpg")):
    """Runs whose lost answers come back: on policy in ten units of flow time, rehearsed in one."""
    rows = [run(form, experiment="way_back", digest=form) for form in forms]
    slow = {"rehearsal": 1.0, "alpha_dpg": 0.2, "sequence_kl": 10.0, "k3_corrected": 10.0}
    courses = [{"digest": form, "step": [0, 10, 20], "first_share": [0.99, 0.97, 0.95]} for form in forms]
    ways = [
        {
            "digest": form,
            "form": form,
            "lost": lost,
            "learning_rate": 0.06 if form == "alpha_dpg" else 0.3,
            "seed": 0,
            "run_time": slow[form] / 5,
            "flow_time": slow[form],
            "times": [0.0, 10.0, 20.0],
            "shares": [lost, 2 * lost, 3 * lost],
        }
        for lost in (0.001, 0.01)
        for form in forms
    ]
    return law_record(rows, courses, ways)


def test_a_panel_a_start_and_how_much_later():
    results = FIGURE.compute(FIGURE.config, {"laws": stored()})
    assert [panel["lost"] for panel in results["panels"]] == [0.01, 0.001]
    assert results["factor"] == pytest.approx(5.0)
    assert (
        "10 times later on policy than rehearsed; by the flow, 10 times later." in FIGURE.findings(results)[0]
    )
    results["panels"][0]["ways"][0]["run_half"] = None
    assert "(1 of 2 runs not in time)" in FIGURE.findings(results)[0]


def test_a_record_without_them_names_the_command():
    with pytest.raises(ValueError, match="dph laws --only way_back makes them"):
        FIGURE.compute(FIGURE.config, {"laws": law_record([run("k3")])})


def test_it_draws():
    results = FIGURE.compute(FIGURE.config, {"laws": stored()})
    assert_figure_draws("way_back", record(FIGURE.kind, seed=0, config={}, results=results, findings=[]))
