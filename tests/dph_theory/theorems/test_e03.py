import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL, alpha_divergence
from dph_theory.laws import locally_filtered, token_forward_limit, token_law
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _laws, e03


def of_first(answers):
    """P(first token is the first | valid) in the two-token example, where the second token must be 0."""
    valid = answers.reshape(-1, 2, 2)[..., 0]
    return valid[..., 0] / valid.sum(axis=-1)


def test_the_two_tokens_limits():
    instance = as_floats(_laws.TWO_TOKENS.parts)
    base = _laws.tables(instance["first"], instance["second"])
    tree = {"base": base, "verdicts": instance["valid"]}
    parts = {name: instance[name] for name in ("first", "second", "valid")}
    assert of_first(e03.local(**tree)) == pytest.approx(0.5)
    assert of_first(e03.globally(**tree)) == pytest.approx(0.9)
    assert of_first(e03.limit(**parts)) == pytest.approx(0.675390529679, abs=5e-13)
    assert of_first(e03.law(**tree, eps=0.1)) == pytest.approx(0.501109336231, abs=5e-13)
    assert of_first(e03.forward_law(**parts, eps=0.1)) == pytest.approx(0.693294539272, abs=5e-13)


def test_what_local_filtering_costs_prefix_by_prefix():
    instance = as_floats(_laws.TWO_TOKENS.parts)
    base = _laws.tables(instance["first"], instance["second"])
    for side in (e03.of_answers, e03.of_prefixes):
        assert side(base, instance["valid"]) == pytest.approx(1.20397280433, abs=5e-12)


def test_a_string_that_has_ended_stays_ended_and_is_judged_once():
    whole = _laws.STRINGS.completed(as_floats(_laws.STRING.parts))
    answers = _laws.answers_of(whole["base"]).reshape(3, 3, 3)
    assert answers.sum() == pytest.approx(1)
    assert answers[2, 2, 2] == pytest.approx(0.1)  # the empty string
    assert answers[0, 2, 2] == pytest.approx(0.5 * 0.2)
    after_end = [(2, 0), (2, 1), (0, 2, 0), (1, 2, 1)]
    assert all((answers[place] == 0).all() and not whole["verdicts"][0][place].any() for place in after_end)
    assert [whole["verdicts"][0][place] for place in ((0, 2, 2), (1, 0, 2), (1, 2, 2))] == [True, True, False]
    # The locally filtered model of the library, which is told the end symbol, is the one used here.
    given = [
        whole["base"][0],
        as_floats(_laws.STRING.parts)["second"],
        as_floats(_laws.STRING.parts)["third"],
    ]
    local = locally_filtered(given, whole["verdicts"], end=2)
    np.testing.assert_allclose(_laws.answers_of(local), e03.local(whole["base"], whole["verdicts"]))


def test_on_strings_too_the_token_penalties_select_what_the_entries_say():
    whole = _laws.STRINGS.completed(as_floats(_laws.STRING.parts))
    tree = whole["base"], whole["verdicts"]

    def distance(limit, beta, divergence):
        return np.abs(_laws.answers_of(limit) - _laws.answers_of(token_law(*tree, beta, divergence))).max()

    for limit, divergence in (
        (token_forward_limit(*tree), FORWARD_KL),
        (locally_filtered(*tree), alpha_divergence(0.5)),
    ):
        assert distance(limit, 1e-6, divergence) < 1e-5
        assert distance(limit, 0.1, divergence) > 1e-3
    assert distance(locally_filtered(*tree), 1e-6, FORWARD_KL) > 1e-2
