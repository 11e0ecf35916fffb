import pytest

from figures.report.words import count, is_numeric, linked, members, number


def test_theorems_and_families_link_to_their_place():
    assert linked("by A8.frontier (C3)") == (
        'by <a href="#A8.frontier">A8.frontier</a> (<a href="#C3.anchor">C3</a>)'
    )


def test_text_stays_text():
    assert linked("KL < 1 & <b> by C3") == 'KL &lt; 1 &amp; &lt;b&gt; by <a href="#C3.anchor">C3</a>'


@pytest.mark.parametrize("text", ["logit A1 + 1/beta", "B99 is none", "DAPO4", "C2.unknown"])
def test_symbols_and_unknown_names_do_not(text):
    assert linked(text) == text


def test_a_family_starts_at_its_first_theorem():
    assert linked("A5, G8") == '<a href="#A5.validity">A5</a>, <a href="#G8.reward">G8</a>'


def test_members_are_in_the_registrys_order():
    assert members(["C4.filtered", "B2"]) == ["B2.misprint", "B2.value", "C4.filtered"]
    assert members(["A1"]) == ["A1.distance", "A1.nearest", "A1.dimension"]


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0"), ("inf", "inf"), (-2.5e-7, "-2e-07"), (1.26e-13, "1e-13")]
)
def test_numbers(value, shown):
    assert number(value, ".0e") == shown


def test_counts():
    assert [count(n, "stage") for n in (0, 1, 1200)] == ["0 stages", "1 stage", "1,200 stages"]


@pytest.mark.parametrize(
    ("cell", "numeric"), [("0.03", True), (7, True), ("3 of 4", True), ("held", False), ("", False)]
)
def test_a_cell_with_a_digit_is_a_number(cell, numeric):
    assert is_numeric(cell) is numeric
