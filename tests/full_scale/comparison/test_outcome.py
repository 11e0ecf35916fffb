import math

import pytest

from dph_theory import pass_at_k
from full_scale.comparison.outcome import COLUMNS, difference, findings, outcomes

ALL, NONE = [1] * 8, [0] * 8


def evaluated(correct, styles=("a", "b"), share=1, **summary):
    """An evaluated set: a list of verdicts for each prompt, `share` prompts a question; styles in turn."""
    prompts = [
        {
            "id": f"p{i}",
            "question": f"q{i // share}",
            "correct": list(c),
            "styles": [styles[j % len(styles)] for j in range(len(c))],
        }
        for i, c in enumerate(correct)
    ]
    numbers = {
        "greedy": {"value": 0.5},
        "pass_at_k": {"1": {"value": 0.25}, "8": {"value": 0.75}},
        "style_entropy": {"value": 1.0},
        "retention": {"samples": {"value": 0.9}},
    }
    return {"prompts": prompts, "summary": numbers | summary}


def test_means_and_deviations_over_seeds():
    seeds = [evaluated([ALL], greedy={"value": v}) for v in (0.2, 0.4, 0.9)]
    found = outcomes({"GRPO": seeds}, {"GRPO": [1.0, 2.0, 3.0]})["GRPO"]
    assert found["greedy"]["mean"] == pytest.approx(0.5)
    assert found["greedy"]["deviation"] == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16) / 2))
    assert found["excess KL"] == {"mean": 2.0, "deviation": 1.0}
    assert found["Pass@8"]["mean"] == 0.75
    assert set(found) <= set(COLUMNS)


def test_what_is_not_there_stays_unknown():
    """The base has no retention, one seed no deviation, a task without styles no entropy."""
    base = evaluated([ALL], style_entropy=None)
    del base["summary"]["retention"]
    found = outcomes({"base": [base]}, {"base": [0.0]})["base"]
    assert found["retention"] == found["styles kept"] == {"mean": None, "deviation": None}
    assert found["greedy"] == {"mean": 0.5, "deviation": None}


def test_differences_are_taken_prompt_by_prompt():
    rate = lambda prompt: sum(prompt["correct"]) / len(prompt["correct"])  # noqa: E731
    before = [evaluated([ALL, NONE, ALL])]
    after = [evaluated([ALL, NONE]), evaluated([NONE, NONE])]
    found = difference(before, after, rate)
    assert (found.value, found.units) == (-0.25, 2)
    assert found.standard_error == pytest.approx(0.25)


def test_prompts_of_one_text_are_one_question():
    rate = lambda prompt: sum(prompt["correct"]) / len(prompt["correct"])  # noqa: E731
    before, after = evaluated([NONE] * 4, share=2), evaluated([ALL, NONE, ALL, ALL], share=2)
    found = difference([before], [after], rate)
    assert (found.value, found.units) == (0.75, 2)
    assert found.standard_error == pytest.approx(0.25)


def sentence(found, start):
    (one,) = [s for s in found if s.startswith(start)]
    return one


@pytest.mark.parametrize(
    ("grpo", "words", "count"),
    [
        (ALL, "higher, as expected", (1, 2, 0)),
        (NONE, "lower, expected higher", (1, 1, 1)),
        ([1, 0] * 4, "not told apart, expected higher", (0, 3, 0)),
    ],
)
def test_sentences_follow_the_numbers(grpo, words, count):
    # Prompts that differ a little, so that the margin is not zero.
    base = [evaluated([[1, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]] * 9)]
    after = [evaluated([grpo] * 27)]
    found = findings({"base": base, "GRPO": after})
    assert sentence(found, "Pass@1, GRPO against base").endswith(f": {words}")
    # Pass@1, Pass@8, style entropy; only a model that is always wrong loses Pass@8.
    counts = (
        "Of 3 expected differences {} were found, {} were not told apart from none, {} went the other way."
    )
    assert found[-1] == counts.format(*count)


def test_sentences_name_values_and_every_pair():
    base, grpo = [evaluated([ALL, NONE] * 4)], [evaluated([ALL, [1, 0] * 4] * 4, styles=("a",))]
    found = findings({"base": base, "GRPO": grpo, "DPH-F": base})
    assert sentence(found, "style entropy, GRPO against base").startswith(
        f"style entropy, GRPO against base: {-math.log(2):+.3f}, margin"
    )
    assert sentence(found, "style entropy, DPH-F against GRPO").endswith(": higher, as expected")
    assert sentence(found, "style entropy, DPH-F against base").endswith(": not told apart")
    gain = float(pass_at_k(8, 4, 8)) / 2
    assert f": {gain:+.3f}," in sentence(found, "Pass@8, GRPO against base")
    assert len(found) == 3 + 3 + 2 + 1


def test_a_prompt_without_a_named_style_has_no_entropy():
    one = evaluated([ALL], styles=(None,))
    found = findings({"base": [one], "GRPO": [one]})
    assert "+0.000" in sentence(found, "style entropy, GRPO against base")
