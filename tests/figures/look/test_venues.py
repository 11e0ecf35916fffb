import pytest
from matplotlib import font_manager

from figures.look.venues import VENUES, venue


@pytest.mark.parametrize("name", VENUES)
def test_the_fonts_of_every_venue_come_with_matplotlib(name):
    fonts = venue(name).fonts()
    path = font_manager.findfont(fonts["font.family"], fallback_to_default=False)
    assert "mpl-data" in path
    assert venue(name).column <= venue(name).text <= 7


def test_another_venue_is_told_which_there_are():
    with pytest.raises(ValueError, match="venue='nature' is not allowed: one of neurips, icml"):
        venue("nature")
