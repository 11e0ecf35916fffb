import json
import math

import pytest
from support.sampled_counts import write_rows

from dph_theory.counts.reading import read_counts

ROWS = [{"id": "a", "n": 4, "c": 1}, {"id": "b", "n": 4, "c": 4}]


def counts(read):
    return {key: (r.n, r.c) for key, r in read.rows.items()}


def test_wrong_rows_are_named_by_file_and_line(tmp_path):
    path = tmp_path / "counts.jsonl"
    path.write_text(
        '{"id": "a", "n": 4, "c": 9}\n\n{"id": "b", "n": 4, "c": 1}\n{"id": "b", "n": 4, "c": 1}\nno\n'
    )
    with pytest.raises(ValueError, match="c=9") as error:
        read_counts(path)
    lines = str(error.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:{number}" for number in (1, 4, 5)]
    assert "each prompt once" in lines[1]


def test_a_line_cut_off_is_told_and_loses_nothing_else(tmp_path):
    path = tmp_path / "counts.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in ROWS) + '{"id": "c", "n": 4')
    with pytest.raises(ValueError, match=r"counts\.jsonl:3: the file is cut off"):
        read_counts(path)
    read = read_counts(path, allow_cut_off=True)
    assert read.cut_off
    assert counts(read) == {"a": (4, 1), "b": (4, 4)}


def test_nothing_to_read_is_an_error(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(ValueError, match="at least one row"):
        read_counts(tmp_path / "empty.jsonl")
    with pytest.raises(ValueError, match="it is not there"):
        read_counts(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_hold_the_same_rows_as_lines(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("datasets")
    table = pandas.DataFrame([*ROWS, {"id": "c", "n": 3, "c": 0, "kl": 0.5}])
    path = tmp_path / f"counts.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    read = read_counts(path)
    assert counts(read) == {"a": (4, 1), "b": (4, 4), "c": (3, 0)}
    assert read.rows["a"].kl is None
    assert math.isclose(read.rows["c"].kl, 0.5)


def test_of_a_table_only_the_wrong_rows_are_named(tmp_path):
    pytest.importorskip("datasets")
    path = tmp_path / "counts.csv"
    path.write_text("id,n,c\n007,4,3\nb,4,9\nd,4,x\n")
    with pytest.raises(ValueError, match="c=9") as error:
        read_counts(path)
    assert [line.split(": ")[0] for line in str(error.value).splitlines()] == [f"{path}:3", f"{path}:4"]


def answers(prompt, scores, **more):
    return [{"input": prompt, "output": "...", "gts": "4", "score": s, "step": 10, **more} for s in scores]


def test_a_log_of_verl_is_counted_by_prompt(tmp_path):
    write_rows(tmp_path / "9.jsonl", answers("1+1", [0.0]))
    write_rows(tmp_path / "10.jsonl", [*answers("1+1", [1.0, -1.0]), *answers("2+2", [1.0])])
    assert counts(read_counts(tmp_path, "verl")) == {"1+1": (2, 1), "2+2": (1, 1)}
    # A reward function's own accuracy goes before a shaped score.
    write_rows(tmp_path / "11.jsonl", answers("1+1", [0.3, 0.9], acc=True))
    assert counts(read_counts(tmp_path, "verl")) == {"1+1": (2, 2)}
    assert counts(read_counts(tmp_path, "verl", reward="score", correct_from=0.5)) == {"1+1": (2, 1)}
    with pytest.raises(ValueError, match=r"11.jsonl:1: reward='hit'"):
        read_counts(tmp_path, "verl", reward="hit")
    write_rows(tmp_path / "12.jsonl", answers("1+1", [1.0, math.nan]))
    with pytest.raises(ValueError, match=r"12.jsonl:2: reward='score'"):
        read_counts(tmp_path, "verl")


def test_a_log_of_trl_is_counted_by_prompt(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("datasets")
    prompt = [{"role": "user", "content": "1+1"}]
    made = {"step": 5, "prompt": [prompt, prompt], "completion": ["2", "3"], "advantage": [1.0, -1.0]}
    pandas.DataFrame(made | {"correct": [1.0, 0.0]}).to_parquet(tmp_path / "completions_00005.parquet")
    assert list(counts(read_counts(tmp_path, "trl")).values()) == [(2, 1)]
    two = pandas.DataFrame(made | {"correct": [1.0, 0.0], "short": [1.0, 1.0]})
    two.to_parquet(tmp_path / "completions_00006.parquet")
    with pytest.raises(ValueError, match="one column of rewards; name it"):
        read_counts(tmp_path, "trl")
    assert list(counts(read_counts(tmp_path, "trl", reward="short")).values()) == [(2, 2)]
