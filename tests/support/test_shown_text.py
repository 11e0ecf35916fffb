"""Texts are alike if a reader sees the same: numbers may differ by one unit in the last shown decimal."""

import pytest

from support.shown_text import assert_shown_alike


@pytest.mark.parametrize(("computed", "stored"), [
    ("Pass@8 0.617", "Pass@8 0.618"), ("a  -0.000 |", "a 0.000 |"),
    ("x='317.519336' clip-path='url(#p0123456789)'", "x='317.519337' clip-path='url(#pabcdef0123)'"),
    ("(-11% to +64%)", "(-11% to +65%)"), ("1.2e-05", "1.3e-05"), ("0.30000000000000004", "0.3"),
    ("of 44 wide", "of 43.9999999 wide"),
])  # fmt: skip
def test_what_a_reader_sees_alike_is_alike(computed, stored):
    assert_shown_alike(computed, stored)


@pytest.mark.parametrize(("computed", "stored"), [
    ("Pass@8 0.617", "Pass@8 0.619"), ("Pass@8 0.617", "Pass@16 0.617"), ("7 of 25", "8 of 25"),
    ("it rises", "it falls"), ("0.617", "0.617 and more"), ("0.617 0.2", "0.617"),
    ("fill: #1f77b4", "fill: #1f77b5"), ("1.2e-05", "1.2e-04"), ("-0.5", "0.5"), ("", "0.5"),
])  # fmt: skip
def test_what_a_reader_sees_differ_is_an_error(computed, stored):
    with pytest.raises(AssertionError, match="computed"):
        assert_shown_alike(computed, stored)
