import json

import pytest

from dph_theory.support.record import record
from figures.results.store import load, save


def numbers(value):
    return record("figure.line", seed=0, config={}, results={"y": value}, findings=[])


def test_what_was_saved_is_loaded(tmp_path):
    path = save("line", numbers([1.5, float("inf")]), tmp_path / "new")
    assert path == tmp_path / "new" / "line.json"
    assert load("line", "figure.line", tmp_path / "new")["results"] == {"y": [1.5, "inf"]}


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"numbers=.*line\.json.*--recompute makes them"):
        load("line", "figure.line", tmp_path)


def test_broken_and_foreign_files_are_refused(tmp_path):
    save("line", numbers(1), tmp_path)
    with pytest.raises(ValueError, match=r"figure\.circle"):
        load("line", "figure.circle", tmp_path)
    (tmp_path / "line.json").write_text('{"kind": ')
    with pytest.raises(ValueError, match=r"valid JSON .*--recompute makes it anew"):
        load("line", "figure.line", tmp_path)
    (tmp_path / "line.json").write_text(json.dumps([1, 2]))
    with pytest.raises(ValueError, match="needs the keys"):
        load("line", "figure.line", tmp_path)


def test_numbers_that_cannot_be_written_leave_the_old_ones(tmp_path):
    save("line", numbers(1), tmp_path)
    with pytest.raises(TypeError):
        save("line", numbers(object()), tmp_path)
    assert load("line", "figure.line", tmp_path)["results"] == {"y": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["line.json"]
