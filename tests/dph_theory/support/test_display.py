import json
from dataclasses import replace
from functools import cache

import pytest
from support.small_comparison import small_comparison

from dph_theory.audit import audit_advantage
from dph_theory.predict import configuration_of, predict
from dph_theory.support.display import Shown


@cache
def results():
    of_two = predict(configuration_of({"beta": 0.0, "num_generations": 8}, "trl"), [0.3, 0.7])
    prediction = replace(of_two, prompts=150 * of_two.prompts)
    verdict = audit_advantage(lambda rewards: rewards - rewards.mean(1, keepdim=True), group_size=4)
    return small_comparison(), prediction, verdict, configuration_of({"beta": 0.04}, "trl")


def test_results_show_themselves_in_a_few_lines_and_as_plain_data():
    for found in results():
        assert isinstance(found, Shown)
        assert repr(found) == found.summary()
        assert len(repr(found)) < 2500, type(found)
        assert "<table>" in found._repr_html_()
        assert json.loads(json.dumps(found.to_dict(), default=str))
        assert found.tables()
    # Long sequences are shown by their ends.
    curves = small_comparison().curves
    assert "k=(1, 2, 3, ..., 14, 15, 16; 16 in all)" in repr(curves)
    assert len(repr(curves)) < 1500


def test_a_prediction_of_many_prompts_shows_the_first_and_frames_all():
    pytest.importorskip("pandas")
    _, prediction, verdict, configuration = results()
    assert "The mean pass rate over 300 prompts goes from 0.500 to" in repr(prediction)
    assert "(the first 20 of 300 rows)" in prediction._repr_html_()
    assert prediction._repr_html_().count("<tr>") < 40
    frame = prediction.to_dataframe()
    assert (len(frame), frame["predicted"].iloc[0]) == (300, prediction.prompts[0].pass_rate)
    assert list(verdict.to_dataframe().columns) == ["V", "weight", "J_G"]
    assert configuration.to_dataframe().iloc[0, 0] == "penalty"
    assert Shown().to_dataframe().empty
