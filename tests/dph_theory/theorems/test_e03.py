import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import e03_cost, e03_dearer, e03_forward, e03_local


def of_first(answers):
    """P(first token is the first | valid) in the two-token example, where the second token must be 0."""
    valid = answers.reshape(-1, 2, 2)[..., 0]
    return valid[..., 0] / valid.sum(axis=-1)


def test_the_two_tokens_limits():
    instance = as_floats(e03_local.THEOREM.examples[0])
    tree = {name: instance[name] for name in ("first", "second", "valid")}
    assert of_first(e03_local.local(**tree)) == pytest.approx(0.5)
    assert of_first(e03_local.globally(**tree)) == pytest.approx(0.9)
    assert of_first(e03_forward.limit(**tree)) == pytest.approx(0.675390529679, abs=5e-13)
    assert of_first(e03_local.law(**tree, eps=0.1)) == pytest.approx(0.501109336231, abs=5e-13)
    assert of_first(e03_forward.law(**tree, eps=0.1)) == pytest.approx(0.693294539272, abs=5e-13)


def test_what_local_filtering_costs():
    instance = as_floats(e03_cost.THEOREM.examples[0])
    for side in e03_cost.THEOREM.sides(instance):
        assert side == pytest.approx(1.20397280433, abs=5e-12)
    filtering, local = e03_dearer.THEOREM.sides(instance)
    assert filtering == pytest.approx(np.log(2), rel=1e-14)
    assert local > filtering
