"""The journal of finished work: what a stop, damage and other settings leave of it."""

import pytest

from dph_theory.support.errors import RefusedError
from dph_theory.support.journal import Journal

IDENTITY = {"model": "abc", "seed": 3, "sampling": {"temperature": 1.0}}
WHOLE = {"a": 1, "b": [2], "c": {"three": 3}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "deep" / "journal.jsonl"
    journal = Journal(path, IDENTITY)
    for key, value in WHOLE.items():
        journal[key] = value
    return path


def entries(path, identity=IDENTITY):
    journal = Journal(path, identity)
    return {key: journal[key] for key in journal}


def test_a_torn_last_line_is_dropped_and_no_other(path):
    whole = path.read_bytes()
    assert entries(path) == WHOLE
    for cut in range(1, 13):
        path.write_bytes(whole[:-cut])
        journal = Journal(path, IDENTITY)
        assert [*journal] == ["a", "b"]
        journal["c"] = {"three": 3}
        assert path.read_bytes() == whole
    # A torn first line is a fresh start.
    path.write_text('{"model": "a')
    assert entries(path) == {}
    assert path.read_bytes() == whole.splitlines(keepends=True)[0]


@pytest.mark.parametrize(
    ("identity", "named"),
    [
        (IDENTITY | {"seed": 4}, "seed=4"),
        (IDENTITY | {"extra": 1}, "extra=1"),
        (IDENTITY | {"sampling": {"temperature": 0.5}}, "sampling="),
        ({"seed": 3}, "model=None"),
    ],
)
def test_work_on_something_else_is_refused_and_kept(path, identity, named):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=named):
        Journal(path, identity)
    assert path.read_bytes() == before


def test_where_nothing_is_done_yet_another_beginning_is_taken(tmp_path):
    path, changed = tmp_path / "journal.jsonl", IDENTITY | {"seed": 4}
    Journal(path, IDENTITY)
    Journal(path, changed)["work"] = "done"
    assert entries(path, changed) == {"work": "done"}
    with pytest.raises(ValueError, match="seed=3"):
        Journal(path, IDENTITY)


def test_damage_before_the_last_line_is_said(path):
    path.write_text(path.read_text().replace("[2]", '{"half'))
    with pytest.raises(RefusedError, match=r"line 3 is no JSON.*remove .*journal.jsonl to begin"):
        Journal(path, IDENTITY)


def test_the_last_entry_of_a_key_counts_and_a_journal_can_be_read_without_its_identity(path, tmp_path):
    Journal(path, IDENTITY)["a"] = 5
    before = path.read_bytes()
    read = Journal(path, None)
    assert (read["a"], read.identity, len(read)) == (5, IDENTITY, 3)
    assert path.read_bytes() == before
    assert len(Journal(tmp_path / "nowhere" / "journal.jsonl", None)) == 0
    assert not (tmp_path / "nowhere").exists()
