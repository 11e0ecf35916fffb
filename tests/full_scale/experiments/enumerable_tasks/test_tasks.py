import dataclasses

import numpy as np
import pytest
from support.small_tasks import uniform_task
from transformers import LlamaForCausalLM

from dph_theory.stationary import locally_filtered, policy_divergence
from full_scale.experiments.enumerable_tasks.base import LlamaFit, build_base, next_token_tables
from full_scale.experiments.enumerable_tasks.tasks import TASKS, dial, enumerable_task


def test_texts_are_written_in_words_and_read_back_by_the_tokenizer():
    task = uniform_task(texts=3)
    assert task.prompts == ["<end> a a", "<end> a b", "<end> b a"]
    tokenizer = task.tokenizer()
    assert tokenizer(task.prompts)["input_ids"] == task.prompt_ids.tolist()
    assert tokenizer.eos_token_id == tokenizer.pad_token_id == task.end == 2


def test_verdicts_of_full_ended_and_empty_answers():
    assert uniform_task().verdicts([0, 1, 0, 1], [[0, 1], [1, 0], [0, 2], [2]]) == [1, 0, 1, 0]


def test_a_task_that_cannot_be_is_refused():
    whole = uniform_task()
    never = whole.valid.copy()
    never[1] = False
    for valid, says in (
        (never, "uniform, row 1.*must give some valid answer of each row mass"),
        (never[:1], r"valid\.shape"),
    ):
        with pytest.raises(ValueError, match=says):
            dataclasses.replace(whole, valid=valid)
    with pytest.raises(ValueError, match=r"answers=531441 .*at most 500,000"):
        uniform_task(texts=1, words=8, length=6)
    with pytest.raises(ValueError, match="task='dial-9' is not allowed: one of selection-2"):
        enumerable_task("dial-9")


def test_rows_of_one_text_have_its_tables():
    task = dataclasses.replace(uniform_task(texts=1), valid=np.ones((3, 3, 3), dtype=bool), texts=(0, 0, 0))
    assert task.pass_rates(task.base) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_complete(name):
    found = enumerable_task(name)
    assert found.name == name
    assert all(np.allclose(table.sum(axis=-1), 1) for table in found.base)
    assert all(0 < rate < 1 for rate in found.pass_rates(found.base))
    assert len(found.tokenizer()) == found.vocabulary


def test_the_two_token_example_is_that_of_theory_e3():
    found = enumerable_task("selection-2")
    assert found.pass_rates(found.base) == pytest.approx([0.5], abs=1e-3)
    local = locally_filtered(found.base, found.valid, end=found.end)
    # 1.20397280433 without the end symbol's ten-thousandth.
    assert policy_divergence(local, found.base, end=found.end) == pytest.approx([1.204], abs=2e-3)


def test_brackets_are_balanced():
    valid = enumerable_task("brackets-6").valid[0]
    assert valid[0, 1, 2, 2, 2, 2]
    assert valid[0, 0, 1, 1, 0, 1]
    assert not valid[0, 1, 1, 0, 2, 2]
    # Catalan numbers of one, two and three pairs.
    assert valid.sum() == 1 + 2 + 5


def test_a_dial_is_its_seeds():
    assert (dial(1).valid == dial(1).valid).all()
    assert not np.allclose(dial(1).base[0], dial(2).base[0])


def test_the_base_has_the_wanted_tables_and_is_built_once(tmp_path):
    wanted, fit = enumerable_task("selection-2"), LlamaFit(hidden=32, steps=250, learning_rate=1e-2)

    def tables(folder):
        return next_token_tables(LlamaForCausalLM.from_pretrained(folder), wanted)

    base = build_base(wanted, tmp_path, fit)
    found = tables(base)
    assert found[0] == pytest.approx(wanted.base[0], abs=0.01)
    assert found[1][:, :2] == pytest.approx(wanted.base[1][:, :2], abs=0.01)
    built = (base / "model.safetensors").stat().st_mtime_ns
    assert build_base(wanted, tmp_path, fit) == base
    assert (base / "model.safetensors").stat().st_mtime_ns == built
    assert [*tmp_path.iterdir()] == [base]
