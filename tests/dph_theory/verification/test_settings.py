import pytest

from dph_theory.verification import checks
from dph_theory.verification.settings import CHECKS, Settings


def test_the_names_are_those_of_the_checks():
    assert tuple(checks.CHECKS) == CHECKS


def test_the_short_form_decides_no_boxes():
    assert Settings(quick=True).selected == CHECKS[:-1]
    assert Settings().selected == CHECKS


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Settings(checks=("guess",)), r"checks='guess' .*symbolic, numeric"),
        (lambda: Settings(checks=()), r"checks=\(\) .*at least one"),
        (lambda: Settings(instances=0), r"instances=0"),
        (lambda: Settings(seed=-1), r"seed=-1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
