import pytest

from dph_theory.support.errors import RefusedError
from full_scale.experiments.runner import RunStore, Step


def store_in(folder):
    return RunStore(folder, {"kind": "a"})


def test_rows_are_made_once_and_those_of_one_name_replaced(tmp_path):
    seen = []
    for jobs in ({"x": (2, 1.0)}, {"x": (2, 5.0), "y": (2, 2.0)}):
        again = store_in(tmp_path)
        again.fill([Step("run", "operator:mul", jobs)], progress=lambda *step: seen.append(step))
    assert again.read("run", float) == {"x": 2.0, "y": 4.0}
    assert seen == [("run", 1, 1), ("run", 2, 2)]
    again.fill([Step("run", "operator:mul", {"x": (2, 5.0)}, anew=True)])
    assert store_in(tmp_path).read("run", float, ["x", "z"]) == {"x": 10.0}
    assert again.missing("run", ["z", "x", "z"]) == ["z"]


def test_packed_rows_are_adopted_but_for_those_that_are_there_and_a_run_is_never_rounded(tmp_path):
    here, there = (store_in(tmp_path / name) for name in ("here", "there"))
    here.write("run", "x", {"run": {"beta": 1 / 3}, "kl": 1 / 3})
    here.write("flow", "x", [1 / 3])
    here.write("guess", "x", [1 / 3])
    here.pack(tmp_path / "packed.xz", without="guess")
    there.write("flow", "x", [0.5])
    there.adopt(tmp_path / "packed.xz")
    assert there.read("run", dict) == {"x": {"run": {"beta": 1 / 3}, "kl": 0.333333}}
    assert there.read("flow", float) == {"x": (0.5,)}
    assert there.missing("guess", ["x"])


def test_other_files_are_refused_in_words(tmp_path):
    (tmp_path / "packed.xz").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"from='.*packed.xz' is not allowed: a file that --pack wrote"):
        store_in(tmp_path).adopt(tmp_path / "packed.xz")
    with store_in(tmp_path).journal.path.open("a") as file:
        file.write('{"id": "x", "predictions": []}\n')
    with pytest.raises(RefusedError, match=r"journal.jsonl is damaged, line 2 is no entry"):
        store_in(tmp_path)
