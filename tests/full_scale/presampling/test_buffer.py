import json
from collections import Counter

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from support.tiny_training import buffer

from dph_theory.support.errors import RefusedError
from full_scale.presampling.buffer import BUFFER, RehearsalBuffer, RehearsalRow, rehearsal_rows, share

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


def test_rows_come_back_for_other_trainers_too_and_storing_changes_nothing(tmp_path):
    made = RehearsalBuffer.from_rows(ROWS, {"model_hash": "m", "seed": 3})
    loaded = RehearsalBuffer.store(tmp_path / "buffer", [made.table], {"model_hash": "m", "seed": 3})
    assert loaded.rows() == made.rows() == ROWS
    assert len(made) == 3
    expected = {"model_hash": "m", "seed": 3, "count": 3, "digest": made.digest}
    assert loaded.manifest == made.manifest == expected
    assert json.loads((tmp_path / "buffer" / "manifest.json").read_text()) == expected
    file, cache = str(tmp_path / "buffer" / BUFFER), str(tmp_path / "cache")
    rows = load_dataset("arrow", data_files=file, cache_dir=cache, split="train")
    assert [RehearsalRow(**row) for row in rows] == ROWS
    assert (
        len(RehearsalBuffer.store(tmp_path / "empty", [], {})) == len(RehearsalBuffer.from_rows([], {})) == 0
    )


def test_the_digest_tells_any_row_apart():
    first = RehearsalBuffer.from_rows(ROWS, {}).digest
    assert RehearsalBuffer.from_rows(ROWS, {"seed": 1}).digest == first
    for change in ({"example_id": "z"}, {"completion_ids": [7, 8, 8]}, {"ref_logps": [-1.0, -0.5, -0.1]}):
        assert RehearsalBuffer.from_rows([ROWS[0]._replace(**change), *ROWS[1:]], {}).digest != first


def test_rows_must_be_whole():
    short, endless = {"completion_ids": [], "ref_logps": []}, {"ref_logps": [-1.0, float("nan"), 0.0]}
    for change in ({"prompt_ids": []}, short, {"ref_logps": [-1.0]}, endless):
        with pytest.raises(ValueError, match="a finite log-probability for each"):
            RehearsalBuffer.from_rows([ROWS[0]._replace(**change), ROWS[1]], {})


def test_absence_and_the_rows_of_another_buffer_are_noticed(tmp_path):
    with pytest.raises(RefusedError, match=r"no rehearsal buffer in .*: run dph presample"):
        RehearsalBuffer.load(tmp_path)
    for folder, made in ((tmp_path, buffer()), (tmp_path / "other", buffer(seed=1))):
        RehearsalBuffer.store(folder, [made.table], {})
    (tmp_path / "other" / BUFFER).replace(tmp_path / BUFFER)
    with pytest.raises(RefusedError, match="does not match its manifest"):
        RehearsalBuffer.load(tmp_path)


def test_a_buffer_belongs_to_its_model_tokenizer_and_temperature():
    made = RehearsalBuffer.from_rows(ROWS, {"model_hash": "m", "tokenizer_hash": "t", "temperature": 1.0})
    made.check(model_hash="m", tokenizer_hash="t", temperature=1.0)
    with pytest.raises(RefusedError, match=r"temperature=1\.0, and this run has 0\.7: run dph presample"):
        made.check(model_hash="m", temperature=0.7)


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
def test_shares_partition_the_rows_evenly_and_in_order_those_of_a_micro_step_side_by_side(
    count, world, micros
):
    shares = [share(range(count), r, world, m, micros) for m in range(micros) for r in range(world)]
    assert [row for each in shares for row in each] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_rows_ordered_by_length_need_less_padding():
    lengths = (9, 1, 8, 2, 7, 3, 6, 4)
    ragged = RehearsalBuffer.from_rows([RehearsalRow("a", [1], [2] * n, [-1.0] * n) for n in lengths], {})

    def width(rows):
        shares = [share(rows, 0, 1, micro, 4) for micro in range(4)]
        return sum(len(each) * int(ragged.lengths[list(each)].max()) for each in shares)

    # 40 tokens: by length 44 with their padding, as they come 60.
    assert (width(ragged.by_length(range(8))), width(range(8))) == (44, 60)
