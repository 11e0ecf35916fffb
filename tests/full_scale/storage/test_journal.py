import pytest

from dph_theory.support.errors import RefusedError
from full_scale.storage.journal import Journal, SharedJournal

IDENTITY = {"model": "abc", "seed": 3, "sampling": {"temperature": 1.0}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "deep" / "journal.jsonl"
    journal = Journal(path, IDENTITY)
    for entry in (1, [2], {"three": 3}):
        journal.append(entry)
    return path


def test_a_torn_last_line_is_dropped_and_no_other(path):
    whole = path.read_bytes()
    assert Journal(path, IDENTITY).entries == [1, [2], {"three": 3}]
    for cut in range(1, 13):
        path.write_bytes(whole[:-cut])
        journal = Journal(path, IDENTITY)
        assert journal.entries == [1, [2]]
        journal.append({"three": 3})
        assert path.read_bytes() == whole
    # A torn first line is a fresh start.
    path.write_text('{"model": "a')
    assert Journal(path, IDENTITY).entries == []
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
    Journal(path, changed).append("work")
    assert Journal(path, changed).entries == ["work"]
    with pytest.raises(ValueError, match="seed=3"):
        Journal(path, IDENTITY)


def test_damage_before_the_last_line_is_said(path):
    path.write_text(path.read_text().replace("[2]", '{"half'))
    with pytest.raises(RefusedError, match=r"line 3 is no JSON.*remove .*journal.jsonl to begin"):
        Journal(path, IDENTITY)


@pytest.mark.parametrize("line", ["5", '{"half', "[" * 9999, "9" * 5000, '{"key": 1, "value": 2}'])
def test_a_damaged_line_of_a_shared_journal_costs_its_own_work_alone(tmp_path, caplog, line):
    path = tmp_path / "journal.jsonl"
    shared = SharedJournal(path, IDENTITY, str)
    for key in "abc":
        shared.append(key, key.upper())
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, lines[3], ""]))
    again = SharedJournal(path, IDENTITY, str)
    assert ["b" in again, again["a"], again["c"]] == [False, "A", "C"]
    assert "line 3 is no" in caplog.text
    again.append("b", "B")
    assert again["b"] == SharedJournal(path, IDENTITY, str)["b"] == "B"
    with pytest.raises(RefusedError, match=r"journal.jsonl line 2: dict='A' .* remove the line"):
        SharedJournal(path, IDENTITY)["a"]
    # What the work depends on must be whole; one way on clears every journal there.
    for first in (line, lines[0].replace("3", "4")):
        path.write_text("\n".join([first, *lines[1:], ""]))
        with pytest.raises((RefusedError, ValueError), match=r"\*\.jsonl.*to begin anew"):
            SharedJournal(path, IDENTITY)
