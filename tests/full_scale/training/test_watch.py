import pytest

from full_scale.training.watch import HEADERS, curves, draw, sparkline, table_rows

ROWS = [{"step": i, "reward": i / 10, "loss": 1.0, "odd": None} for i in range(1, 9)]


def test_curves_are_what_was_logged():
    assert [*curves(ROWS)] == ["reward", "loss"]
    assert curves(ROWS, ["reward"])["reward"][-1] == (8, 0.8)
    with pytest.raises(ValueError, match=r"'kl'.*'reward'"):
        curves(ROWS, ["kl"])


def test_a_sparkline_rises_with_its_values_and_is_flat_without_change():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 0, 7, 7], 2) == "▁█"
    assert sparkline([3, 3, 3], 10) == "▁▁▁"


def test_a_row_tells_first_last_least_and_largest():
    rows = table_rows(curves(ROWS), 4)
    assert rows[0][:5] == ["reward", "0.1", "0.8", "0.1", "0.8"]
    assert all(len(row) == len(HEADERS) for row in rows)


def test_a_drawing_is_a_file_of_its_kind(tmp_path):
    draw(curves(ROWS), tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(ValueError, match=r"\.png"):
        draw(curves(ROWS), tmp_path / "c.txt")
