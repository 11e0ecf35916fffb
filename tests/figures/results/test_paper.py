import re

import pytest
from support.drawing_checks import assert_drawn

from figures.catalogue import figure
from figures.look.theme import look
from figures.look.venues import VENUES
from figures.report import guide
from figures.results import paper


@pytest.fixture(scope="module")
def numbers():
    return figure("mu_beta").numbers(quick=True)


def test_a_pdf_names_the_numbers_that_it_is_drawn_from(numbers, tmp_path):
    wanted = paper.Wanted(formats=("pdf",), folder=tmp_path)
    pdf, caption = paper.write(paper.piece(figure("mu_beta"), numbers), wanted)
    assert f"sha256:{paper.digest(numbers)}".encode() in pdf.read_bytes()
    assert caption.read_text().count("{") == caption.read_text().count("}")
    assert not re.search(r"(?<!\\)[_%#&]", caption.read_text())


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions(numbers):
    assert paper.digest({**numbers, "versions": {}}) == paper.digest(numbers)
    assert paper.digest({**numbers, "config": {}}) != paper.digest(numbers)


@pytest.mark.parametrize("venue", VENUES.values(), ids=VENUES)
def test_words_stay_apart_at_every_venue(numbers, venue):
    with look(venue):
        assert_drawn(figure("mu_beta").drawing(numbers, venue))


def test_the_numbers_of_a_page_are_named_after_row_and_column_or_line():
    table = "| by | base | Pass@16 / k3 |\n| --- | --- | --- |\n| k2 | 1 / 0.046 | .02 |"
    page = f"Of 96 runs\n{table}\n\nBelow -0.5."
    assert paper.commands_of_page("x", page).splitlines()[1:] == [
        r"\newcommand{\dphXLineOne}{96}",
        r"\newcommand{\dphXKTwoBaseOne}{1}",
        r"\newcommand{\dphXKTwoBaseTwo}{0.046}",
        r"\newcommand{\dphXKTwoPassOneSixKThree}{.02}",
        r"\newcommand{\dphXLineSix}{-0.5}",
    ]


def test_every_number_of_the_readme_has_a_name_of_its_own():
    made = paper.commands_of_page("readme", guide.in_short(guide.records()))
    names = re.findall(r"newcommand{(.*?)}", made)
    assert len(names) == len(set(names)) > 30
    assert r"\dphReadmeDphToyStrategiesBaseTwo" in names
