import pytest

from full_scale.storage.journal import Journal
from full_scale.storage.kept import Kept, write_packed

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
    with pytest.raises(ValueError, match="one JSON value a line"):
        Journal(path, IDENTITY)


def kept(folder):
    return Kept(folder, {"kind": "a"})


def doubled(job: float) -> float:
    return 2 * job


def test_rows_are_made_once_and_those_of_one_name_replaced(tmp_path):
    seen = []
    for jobs in ({"x": 1.0}, {"x": 5.0, "y": 2.0}):
        again = kept(tmp_path)
        again.settle("run", doubled, jobs, progress=lambda *step: seen.append(step))
    assert again.read("run", float) == {"x": 2.0, "y": 4.0}
    assert seen == [("run", 1, 1), ("run", 2, 2)]
    again.settle("run", doubled, {"x": 5.0}, anew=True)
    assert kept(tmp_path).read("run", float, ["x", "z"]) == {"x": 10.0}
    assert again.lacks("run", ["z", "x", "z"]) == ["z"]


def test_packed_rows_are_adopted_but_for_those_that_are_there_and_a_run_is_never_rounded(tmp_path):
    here, there = (kept(tmp_path / name) for name in ("here", "there"))
    here.keep("run", "x", {"run": {"beta": 1 / 3}, "kl": 1 / 3})
    here.keep("law", "x", [1 / 3])
    write_packed(tmp_path / "packed.xz", here.all_rows(digits=3))
    there.keep("law", "x", [0.5])
    there.adopt(tmp_path / "packed.xz")
    assert there.read("run", dict) == {"x": {"run": {"beta": 1 / 3}, "kl": 0.333}}
    assert there.read("law", float) == {"x": (0.5,)}


def test_other_files_are_refused_in_words(tmp_path):
    (tmp_path / "packed.xz").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"from='.*packed.xz' is not allowed: a file that `dph laws --pack`"):
        kept(tmp_path).adopt(tmp_path / "packed.xz")
    kept(tmp_path).journal.append({"id": "x", "predictions": []})
    with pytest.raises(ValueError, match=r"journal='.*' is not allowed: rows that say what they are"):
        kept(tmp_path)
