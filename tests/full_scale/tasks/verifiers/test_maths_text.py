import pytest
from hypothesis import given
from hypothesis import strategies as st

from full_scale.tasks.verifiers.maths_text import plain, word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"1\,000", "1000"),
        ("12 345 678", "12345678"),
        ("1 23", "1 23"),
        ("1.2e-5", r"1.2\times 10^{-5}"),
        ("7.e3", r"7\times 10^{3}"),
        ("2e", "2e"),
        ("1e999999999", "1e999999999"),
        (r"0.\overline{3}", r"\frac{1}{3}"),
        (r"0.\dot{1}4285\dot{7}", r"\frac{1}{7}"),
        (r"1.2\overline{3}", r"\frac{37}{30}"),
        ("7.", "7"),
        ("7.5", "7.5"),
        ("(7., 8.)", "(7, 8)"),
        ("2 1/2", r"2\frac{1}{2}"),
        ("\uff11\uff12", "12"),
        ("\u0661\u066b\u0662", "1.2"),
        ("x\u00b2", "x\u00b2"),
    ],
)
def test_numbers_in_one_notation(text, expected):
    assert plain(text) == expected


def test_words_are_words_and_products_are_not():
    assert word(r"\text{ Tuesday }") == word("tuesday.") == "tuesday"
    assert word("abc") is None
    assert word("two words") is None
    assert word("No") == "no"


@given(st.integers(0, 10**12), st.sampled_from(["\\,", " ", "~", "\u202f"]))
def test_grouped_digits_are_the_number(number, space):
    grouped = f"{number:,}".replace(",", space)
    assert plain(grouped) == str(number)


@given(st.text(max_size=60))
def test_any_text_is_read_and_once_is_enough_for_plain_ones(text):
    assert isinstance(plain(text), str)
    assert plain("x + 1") == "x + 1"
