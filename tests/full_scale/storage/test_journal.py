import json

import pytest

from full_scale.storage.journal import Journal

IDENTITY = {"model": "abc", "seed": 3, "sampling": {"temperature": 1.0}}


def filled(path, entries=(1, [2], {"three": 3})):
    journal = Journal(path, IDENTITY)
    for entry in entries:
        journal.append(entry)
    return path


def test_entries_are_there_again(tmp_path):
    path = filled(tmp_path / "deep" / "journal.jsonl")
    assert Journal(path, IDENTITY).entries == [1, [2], {"three": 3}]
    assert path.read_text().count("\n") == 4


@pytest.mark.parametrize("cut", range(1, 13))
def test_a_torn_last_line_is_dropped_and_no_other(tmp_path, cut):
    path = filled(tmp_path / "journal.jsonl")
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    journal = Journal(path, IDENTITY)
    assert journal.entries == [1, [2]]
    journal.append({"three": 3})
    assert path.read_bytes() == data


def test_a_torn_first_line_is_a_fresh_start(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"model": "a')
    assert Journal(path, IDENTITY).entries == []
    assert json.loads(path.read_text()) == IDENTITY


@pytest.mark.parametrize(
    ("change", "named"),
    [({"seed": 4}, "seed=4"), ({"extra": 1}, "extra=1"), ({"sampling": {"temperature": 0.5}}, "sampling=")],
)
def test_work_on_something_else_is_refused_and_kept(tmp_path, change, named):
    path = filled(tmp_path / "journal.jsonl")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=named):
        Journal(path, IDENTITY | change)
    with pytest.raises(ValueError, match="model=None"):
        Journal(path, {key: value for key, value in IDENTITY.items() if key != "model"})
    assert path.read_bytes() == before


def test_where_nothing_is_done_yet_another_beginning_is_taken(tmp_path):
    path = filled(tmp_path / "journal.jsonl", entries=())
    changed = IDENTITY | {"seed": 4}
    Journal(path, changed).append("work")
    assert Journal(path, changed).entries == ["work"]
    with pytest.raises(ValueError, match="seed=3"):
        Journal(path, IDENTITY)


def test_damage_before_the_last_line_is_said(tmp_path):
    path = filled(tmp_path / "journal.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], '{"half', *lines[2:]]) + "\n")
    with pytest.raises(ValueError, match="one JSON value a line"):
        Journal(path, IDENTITY)
