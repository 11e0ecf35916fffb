import pytest
from matplotlib import font_manager

from figures.style.venues import VENUES


@pytest.mark.parametrize("name", VENUES)
def test_the_fonts_of_every_venue_come_with_matplotlib(name):
    path = font_manager.findfont(VENUES[name].fonts()["font.family"], fallback_to_default=False)
    assert "mpl-data" in path
    assert VENUES[name].text <= 7
