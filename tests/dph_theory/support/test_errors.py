import pytest

from dph_theory.support.errors import argument_error, choice


def test_the_error_names_the_argument_its_value_and_what_is_allowed():
    with pytest.raises(ValueError, match=r"^beta=-1 is not allowed: a number above 0$"):
        raise argument_error("beta", -1, "a number above 0")


def test_a_choice_is_one_of_those_there_are():
    choice("level", "token", ("token", "sequence"))
    with pytest.raises(ValueError, match=r"^level='word' is not allowed: one of token, sequence$"):
        choice("level", "word", iter(("token", "sequence")))
