from pathlib import Path

import pytest

from full_scale.storage.kept import Kept, write_packed


def doubled(job: float) -> float:
    return 2 * job


def test_rows_are_made_once_and_those_of_one_name_replaced(tmp_path: Path):
    seen, kept = [], Kept(tmp_path, {"kind": "a"})
    kept.settle("run", doubled, {"x": 1.0}, progress=lambda *step: seen.append(step))
    again = Kept(tmp_path, {"kind": "a"})
    again.settle("run", doubled, {"x": 5.0, "y": 2.0}, progress=lambda *step: seen.append(step))
    assert again.read("run", float) == {"x": 2.0, "y": 4.0}
    assert seen == [("run", 1, 1), ("run", 2, 2)]
    again.settle("run", doubled, {"x": 5.0}, anew=True)
    assert Kept(tmp_path, {"kind": "a"}).read("run", float, ["x", "z"]) == {"x": 10.0}
    assert again.lacks("run", ["z", "x", "z"]) == ["z"]


def test_packed_rows_are_adopted_but_for_those_that_are_there_and_a_run_is_never_rounded(tmp_path: Path):
    here, there = (Kept(tmp_path / name, {"kind": "a"}) for name in ("here", "there"))
    here.keep("run", "x", {"run": {"beta": 1 / 3}, "kl": 1 / 3})
    here.keep("law", "x", [1 / 3])
    write_packed(tmp_path / "packed.xz", here.all_rows(digits=3))
    there.keep("law", "x", [0.5])
    there.adopt(tmp_path / "packed.xz")
    assert there.read("run", dict) == {"x": {"run": {"beta": 1 / 3}, "kl": 0.333}}
    assert there.read("law", float) == {"x": (0.5,)}


def test_other_files_are_refused_in_words(tmp_path: Path):
    (tmp_path / "packed.xz").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"from='.*packed.xz' is not allowed: a file that `dph laws --pack`"):
        Kept(tmp_path, {"kind": "a"}).adopt(tmp_path / "packed.xz")
    Kept(tmp_path, {"kind": "a"}).journal.append({"id": "x", "predictions": []})
    with pytest.raises(ValueError, match=r"journal='.*' is not allowed: rows that say what they are"):
        Kept(tmp_path, {"kind": "a"})
