import json
from collections import Counter

import numpy as np
import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from support.tiny_training import buffer

from full_scale.presampling.buffer import (
    BUFFER,
    MANIFEST,
    RehearsalBuffer,
    RehearsalRow,
    rehearsal_rows,
    share,
)

ROWS = [
    RehearsalRow("a", [5, 6], [7, 8, 9], [-1.0, -0.5, 0.0]),
    RehearsalRow("b", [5], [7], [-2.0]),
    RehearsalRow("a", [5, 6], [8, 9], [-0.25, -3.0]),
]


def test_a_batch_is_as_wide_as_its_longest_row():
    batch = RehearsalBuffer.from_rows(ROWS, {}).batch([1, 0], pad_id=0)
    assert batch["ids"].tolist() == [[0, 0, 0, 5, 7], [5, 6, 7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[0, 0, 0, 1, 1], [1, 1, 1, 1, 1]]
    assert batch["completion_mask"].tolist() == [[0, 0, 1], [1, 1, 1]]
    assert batch["ref_logps"].tolist() == [[0.0, 0.0, -2.0], [-1.0, -0.5, 0.0]]
    # A long prompt with a short answer stands in the room of a short prompt with a long one.
    mirrored = [RehearsalRow("a", [5] * 8, [6], [0.0]), RehearsalRow("b", [5], [6] * 8, [0.0] * 8)]
    assert RehearsalBuffer.from_rows(mirrored, {}).batch([0, 1], pad_id=0)["attention_mask"].all()


def test_other_trainers_read_the_rows_and_where_they_come_from(tmp_path):
    made = RehearsalBuffer.from_rows(ROWS, {"model_hash": "m", "temperature": 0.9})
    made.save(tmp_path)
    rows = load_dataset(
        "parquet", data_files=str(tmp_path / BUFFER), cache_dir=str(tmp_path / "cache"), split="train"
    )
    assert [RehearsalRow(**row) for row in rows] == ROWS
    told = json.loads((tmp_path / MANIFEST).read_text())
    assert told == {"model_hash": "m", "temperature": 0.9, "count": 3, "digest": made.digest}


def test_rows_come_back_and_storing_changes_nothing(tmp_path):
    made = RehearsalBuffer.from_rows(ROWS, {"model_hash": "m", "seed": 3})
    assert made.rows() == ROWS
    assert len(made) == 3
    assert made.manifest == {"model_hash": "m", "seed": 3, "count": 3}
    made.save(tmp_path / "buffer")
    loaded = RehearsalBuffer.load(tmp_path / "buffer")
    assert loaded.rows() == ROWS
    assert loaded.manifest == made.manifest
    assert loaded.digest == made.digest


def test_an_empty_buffer_can_be_stored(tmp_path):
    RehearsalBuffer.from_rows([], {}).save(tmp_path)
    assert len(RehearsalBuffer.load(tmp_path)) == 0


@pytest.mark.parametrize(
    "change", [{"example_id": "z"}, {"completion_ids": [7, 8, 8]}, {"ref_logps": [-1.0, -0.5, -0.1]}]
)
def test_the_digest_tells_any_row_apart(change):
    other = RehearsalBuffer.from_rows([ROWS[0]._replace(**change), *ROWS[1:]], {})
    assert other.digest != RehearsalBuffer.from_rows(ROWS, {}).digest
    assert RehearsalBuffer.from_rows(ROWS, {"seed": 1}).digest == RehearsalBuffer.from_rows(ROWS, {}).digest


def test_rows_must_be_whole():
    good = ROWS[0]
    for bad, name in (
        (good._replace(prompt_ids=[]), "prompt"),
        (good._replace(completion_ids=[], ref_logps=[]), "completion"),
        (good._replace(ref_logps=[-1.0]), "3 tokens"),
        (good._replace(ref_logps=[-1.0, float("nan"), 0.0]), "finite"),
    ):
        with pytest.raises(ValueError, match=name):
            RehearsalBuffer.from_rows([bad], {})


def test_damage_and_absence_are_noticed(tmp_path):
    with pytest.raises(ValueError, match="pre-sample first"):
        RehearsalBuffer.load(tmp_path)
    buffer().save(tmp_path)
    buffer(seed=1).save(tmp_path / "other")
    (tmp_path / BUFFER).write_bytes((tmp_path / "other" / BUFFER).read_bytes())
    with pytest.raises(ValueError, match="its manifest describes"):
        RehearsalBuffer.load(tmp_path)
    assert json.loads((tmp_path / MANIFEST).read_text())["count"] == 13


def test_a_buffer_belongs_to_its_model_tokenizer_and_temperature():
    made = RehearsalBuffer.from_rows(ROWS, {"model_hash": "m", "tokenizer_hash": "t", "temperature": 1.0})
    made.check(model_hash="m", tokenizer_hash="t", temperature=1.0)
    for name, value in (("model_hash", "n"), ("tokenizer_hash", "u"), ("temperature", 0.7)):
        with pytest.raises(ValueError, match=rf"{name}.*pre-sample"):
            made.check(**{name: value})


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 20), st.integers(1, 50))
def test_a_steps_rows_are_fixed_by_seed_and_step_and_visit_all_alike(seed, step, size, count):
    rows = rehearsal_rows(seed, step, size, count)
    assert rows == rehearsal_rows(seed, step, size, count)
    times = Counter(rows)
    assert len(rows) == count
    assert set(times) <= set(range(size))
    assert max(times.values()) - min(times.get(i, 0) for i in range(size)) <= 1


def test_steps_and_seeds_differ():
    assert len({tuple(rehearsal_rows(seed, step, 50, 8)) for seed in range(5) for step in range(20)}) == 100


@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 6))
def test_shares_partition_the_rows_evenly(count, world, micros):
    rows = list(range(count))
    shares = [share(rows, r, world, m, micros) for r in range(world) for m in range(micros)]
    assert sorted(row for each in shares for row in each) == rows
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert max(map(len, shares)) == -(-count // (world * micros))


def test_which_rows_a_share_and_a_step_take():
    assert share(range(12), rank=1, world=2, micro=0, micros=3) == range(2, 4)
    expected = np.random.default_rng([7, 2]).permutation(6)[:4].tolist()
    assert rehearsal_rows(seed=7, step=2, size=6, count=4) == expected


def test_rows_ordered_by_length_need_less_padding():
    ragged = RehearsalBuffer.from_rows(
        [RehearsalRow("a", [1], [2] * n, [-1.0] * n) for n in (9, 1, 8, 2, 7, 3, 6, 4)], {}
    )
    ordered = ragged.by_length(range(8))
    assert ragged.lengths[ordered].tolist() == [1, 2, 3, 4, 6, 7, 8, 9]

    def width(rows):
        shares = [share(rows, 0, 1, micro, 4) for micro in range(4)]
        return sum(len(each) * int(ragged.lengths[list(each)].max()) for each in shares)

    # 40 tokens: by length 44 with their padding, as they come 60.
    assert (width(ordered), width(range(8))) == (44, 60)
