import json
import math
import sys

import numpy as np
import pytest
from support.sampled_counts import write_rows

from dph_theory.counts import Pairs, matched, read_counts
from dph_theory.counts.pairs import row
from dph_theory.support.files import write_json
from dph_theory.support.record import record

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
    if suffix == "parquet":
        pytest.importorskip("datasets")
    table = pandas.DataFrame([*ROWS, {"id": "c", "n": 3, "c": 0, "kl": 0.5}])
    path = tmp_path / f"counts.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    read = read_counts(path)
    assert counts(read) == {"a": (4, 1), "b": (4, 4), "c": (3, 0)}
    assert read.rows["a"].kl is None
    assert math.isclose(read.rows["c"].kl, 0.5)


def test_csv_needs_the_standard_library_alone(tmp_path, monkeypatch):
    for name in ("datasets", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "counts.csv").write_text("id,n,c\na,4,1\nb,4,4\n")
    assert counts(read_counts(str(tmp_path / "counts.csv"))) == {"a": (4, 1), "b": (4, 4)}


def test_of_a_table_only_the_wrong_rows_are_named(tmp_path):
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


def test_a_log_has_no_categories(tmp_path):
    write_rows(tmp_path / "9.jsonl", answers("1+1", [0.0]))
    with pytest.raises(ValueError, match="by='step' is not allowed: None for a trainer's log"):
        read_counts(tmp_path, "verl", by="step")


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


PROMPT = {
    "id": "q1",
    "correct": [1, 0, 1],
    "log_pi": [-1.0, -2.0, -3.0],
    "log_ref": [-2.0, -2.0, -2.0],
    "styles": ["a", "b", None],
}


def stored(folder, *sets):
    results = {"sets": {name: {"prompts": [PROMPT]} for name in sets}}
    made = record("full_scale.evaluation", seed=0, config={}, results=results, findings=[])
    write_json(folder / "evaluation.json", made)
    return folder


def test_a_run_of_dph_evaluate_gives_counts_log_ratios_and_styles(tmp_path):
    read = read_counts(stored(tmp_path, "in_domain")).rows["q1"]
    assert (read.n, read.c, read.kl, read.kl_correct, read.styles) == (3, 2, 0, 0, {"a": 1})
    assert read_counts(tmp_path / "evaluation.json").rows["q1"] == read


def test_of_several_sets_one_is_named(tmp_path):
    stored(tmp_path, "in_domain", "rehearsed")
    assert set(read_counts(tmp_path, prompts="rehearsed").rows) == {"q1"}
    with pytest.raises(ValueError, match="one of in_domain, rehearsed"):
        read_counts(tmp_path)
    (tmp_path / "evaluation.json").write_text("{")
    with pytest.raises(ValueError, match="a record in JSON"):
        read_counts(tmp_path)


def test_a_row_is_read_with_all_it_may_hold():
    read = row(
        {
            "id": 3,
            "correct": [1, 0, True],
            "log_ratio": [0.5, -1, 2],
            "style": {"a": 2, "b": None},
            "k": [4, 2],
        }
    )
    assert (read.id, read.n, read.c, read.styles, read.ks) == (3, 3, 2, {"a": 2}, (2, 4))
    assert read.kl == pytest.approx(0.5)
    assert read.kl_correct == pytest.approx(2.5 / 3)
    assert row({"id": "x", "n": 2, "c": 0, "kl": 0.25, "style": None}).kl == 0.25


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"c": 5}, "c=5"),
        ({"c": True}, "c=True"),
        ({"n": 3.0}, "n=3.0"),
        ({"n": 0, "c": 0}, "n=0"),
        ({"n": 10**12}, "at most 16,384 answers"),
        ({"id": None}, "needs id"),
        ({"id": ""}, "id=''"),
        ({"correct": [1, 1, 1, 0]}, "must agree with c=1"),
        ({"correct": [2, 0, 0, 0]}, "zeros and ones"),
        ({"log_ratio": [0.1]}, "one for each of the 4"),
        ({"log_ratio": [0.1, 0.2, 0.3, float("nan")]}, "a finite number"),
        ({"kl": "high"}, "kl='high'"),
        ({"style": {"a": 9}}, "at most n = 4"),
        ({"k": [0]}, "k=0"),
    ],
)
def test_a_wrong_field_is_named(changed, named):
    with pytest.raises(ValueError, match=named):
        row({"id": "x", "n": 4, "c": 1} | changed)


def read(folder, name, ids):
    return read_counts(write_rows(folder / name, [{"id": i, "n": 2, "c": 1} for i in ids]))


def test_prompts_are_paired_by_id_whatever_their_order(tmp_path):
    found = matched(read(tmp_path, "base", ["b", 2, "a", 10]), read(tmp_path, "run", [10, "a", 2, "b"]))
    assert [r.id for r in found.base] == [r.id for r in found.run] == [2, 10, "a", "b"]


def test_missing_prompts_are_refused_or_counted(tmp_path):
    base, run = read(tmp_path, "base", ["a", "b", "c"]), read(tmp_path, "run", ["b", "d"])
    with pytest.raises(ValueError, match=r"run lacks 2 of the prompts, such as 'a'; .*base lacks 1"):
        matched(base, run)
    found = matched(base, run, allow_missing=True)
    assert (len(found.counts), found.only_base, found.only_run) == (1, 2, 1)
    with pytest.raises(ValueError, match="at least one prompt in common"):
        matched(base, read(tmp_path, "other", ["z"]), allow_missing=True)


def test_thinning_equalises_answers_and_keeps_rates():
    rng = np.random.default_rng(0)
    pairs = Pairs.of(np.full(4000, 6), 3, 4, 1)
    thin = pairs.thinned(rng)
    assert (thin.base_n == 4).all()
    assert (thin.run_n == 4).all()
    assert (thin.run_c == 1).all()
    assert thin.base_c.mean() == pytest.approx(2, abs=0.05)


def test_counts_above_n_are_refused():
    with pytest.raises(ValueError, match="run_c=3"):
        Pairs.of([2, 2], [1, 1], [2, 2], [0, 3])
