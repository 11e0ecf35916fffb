import json

import pytest

from dph_theory.support.files import write_json


def test_infinities_become_strings(tmp_path):
    write_json(tmp_path / "a.json", {"x": [float("inf"), -float("inf"), 1.5, None]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": ["inf", "-inf", 1.5, None]}


def test_lists_of_numbers_and_short_objects_take_one_line(tmp_path):
    value = {"a": list(range(1000)), "b": [{"c": [1, 2], "d": None}] * 30, "e": [], "f": list(range(9000))}
    write_json(tmp_path / "a.json", value)
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text) == value
    lines = text.splitlines()
    assert len(lines) == 1 + 1 + 32 + 1 + 13 + 1
    assert max(map(len, lines)) < 4500


def test_keys_that_are_no_words_are_refused(tmp_path):
    with pytest.raises(TypeError, match="keys"):
        write_json(tmp_path / "a.json", {("a",): 1})


def test_a_failed_write_leaves_the_old_file_and_no_debris(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"good": 1})
    with pytest.raises(TypeError):
        write_json(path, {"bad": object()})
    assert json.loads(path.read_text()) == {"good": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_json(path, {"good": 1})

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"new": 2})
    assert json.loads(path.read_text()) == {"good": 1}
    assert list(tmp_path.iterdir()) == [path]
