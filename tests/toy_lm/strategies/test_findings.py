import pytest
from support.small_strategies_run import SMALL, small_record

from toy_lm.strategies.findings import findings


@pytest.fixture
def results():
    return small_record()["results"]


def sentence(results, start):
    (found,) = [line for line in findings(SMALL, results) if line.startswith(start)]
    return found


def test_one_sentence_a_question_and_each_is_whole(results):
    lines = findings(SMALL, results)
    assert len(lines) == 10
    assert all(line.endswith(".") and "{" not in line for line in lines)


def test_a_rise_is_called_a_rise_and_a_fall_a_fall(results):
    assert "raises Pass@1" in sentence(results, "GRPO")
    assert "lowers Pass@16" in sentence(results, "GRPO")
    results["methods"][0].update(pass_at_1=0.1, pass_at_k=0.9)
    assert sentence(results, "GRPO").startswith("GRPO lowers Pass@1 from 0.351 to 0.100 and raises Pass@16")


def test_the_fall_needs_sharing_only_if_the_numbers_say_so(results):
    assert sentence(results, "Without").endswith("the fall needs shared strategies.")
    results["sweep"][0]["pass_at_k"] = [[0.9], [0.1]]
    assert sentence(results, "Without").endswith("conditioning alone does not decide.")
    results["sweep"][0]["pass_at_k"] = [[0.9], [0.9]]
    assert "in () and not in (0.1, 1)" in sentence(results, "Without")


def test_the_direction_matters_when_weak_only_if_the_numbers_say_so(results):
    assert "hardly under a strong one" in sentence(results, "Penalty on D_pef")
    for row in results["directions"]:
        row["gap"] = 0.2
    assert "keeps mattering" in sentence(results, "Penalty on D_pef")


def test_a_violated_guarantee_would_be_said(results):
    assert "holds at every step" in sentence(results, "The rehearsal guarantee")
    results["methods"][3]["guarantee_margin"] = -0.01
    assert "is violated by 1.0e-02" in sentence(results, "The rehearsal guarantee")


def test_a_meter_that_never_warns_is_said_to(results):
    for lead in results["methods"][0]["leads"]:
        lead["lead"] = None
    assert "leads by (never, never, never, never) steps" in sentence(results, "Collapse meter")
