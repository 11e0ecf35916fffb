"""Twelve mixed, coupled and odd losses: the verdict is right, or says that it does not know."""

import pytest

from dph_theory.audit import audit
from support.losses_off_the_catalogue import UNSEEN, squared_mean


@pytest.mark.slow
@pytest.mark.parametrize("unseen", UNSEEN, ids=lambda unseen: unseen.loss.__name__)
def test_the_verdict_is_right_or_says_that_it_does_not_know(unseen):
    report = audit(unseen.loss, samples=unseen.samples)
    found = report.gradient
    if unseen.terms is None:
        assert not found.exact
        assert "descends none of the known quantities" in report.verdict
    elif not unseen.terms:
        assert found.name == "zero"
    else:
        terms = found.terms or ((found.constant, found.name),)
        assert {name: constant for constant, name in terms} == pytest.approx(unseen.terms)


def test_the_coupled_one_says_how_the_batch_matters():
    assert [match.constant for _, match in audit(squared_mean).batches.gradients] == pytest.approx(
        [2, 1, 2 / 3]
    )
