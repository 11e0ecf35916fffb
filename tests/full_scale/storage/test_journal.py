import pytest

from dph_theory.support.errors import RefusedError
from full_scale.storage.journal import SharedJournal

IDENTITY = {"model": "abc", "seed": 3, "sampling": {"temperature": 1.0}}


@pytest.mark.parametrize("line", ["5", '{"half', "[" * 9999, "9" * 5000, '{"key": 1, "value": 2}'])
def test_a_damaged_line_of_a_shared_journal_costs_its_own_work_alone(tmp_path, caplog, line):
    path = tmp_path / "journal.jsonl"
    shared = SharedJournal(path, IDENTITY, str)
    for key in "abc":
        shared[key] = key.upper()
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, lines[3], ""]))
    again = SharedJournal(path, IDENTITY, str)
    assert ["b" in again, again["a"], again["c"]] == [False, "A", "C"]
    assert "line 3 is no" in caplog.text
    again["b"] = "B"
    assert again["b"] == SharedJournal(path, IDENTITY, str)["b"] == "B"
    with pytest.raises(RefusedError, match=r"journal.jsonl line 2: dict='A' .* remove the line"):
        SharedJournal(path, IDENTITY)["a"]
    # What the work depends on must be whole; one way on clears every journal there.
    for first in (line, lines[0].replace("3", "4")):
        path.write_text("\n".join([first, *lines[1:], ""]))
        with pytest.raises((RefusedError, ValueError), match=r"\*\.jsonl.*to begin anew"):
            SharedJournal(path, IDENTITY)
