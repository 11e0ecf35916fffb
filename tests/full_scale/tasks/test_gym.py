import importlib.util
import sys

import pytest

from full_scale.recipe.schema import TaskConfig
from full_scale.tasks.gym import load
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import Prompt

installed = pytest.mark.skipif(importlib.util.find_spec("reasoning_gym") is None, reason="the extra gym")
GENERATOR = """
class Half(list):
    def score_answer(self, answer, entry):
        return float(answer) / 2 * (entry["entry"] == 1)

def create_dataset(name, size, seed):
    return Half({"question": "1 {+} 1?", "answer": "2", "entry": at} for at in range(size))
"""
"""A package of one generator, whose answer 2 to its second question scores 1."""


def config(**changed):
    options = {"dataset": "chain_sum", "size": 4, "evaluation_size": 2, "arguments": {"max_terms": 3}}
    return TaskConfig(name="reasoning-gym", options=options | {"workers": 1} | changed)


@installed
@pytest.mark.slow
def test_a_generator_is_a_task_with_binary_verdicts():
    task = load_task(config())
    try:
        assert [example.id for example in task.train] == [f"train/{i}" for i in range(4)]
        assert len(task.evaluation["in_domain"]) == 2
        example = task.train[0]
        numbers = example.prompt.split(":")[1].split("=")[0]
        right = sum(int(number) for number in numbers.replace("- ", "-").replace("+ ", "").split())
        answers = [f"<answer>{right}</answer>", rf"\boxed{{{right}}}", f"<answer>{right + 1}</answer>", "?"]
        scores = task.verifier([example] * 4, answers)
        assert [score.outcome for score in scores] == ["correct", "correct", "wrong", "no_answer"]
        assert load_task(config()).train == task.train
    finally:
        task.close()


@installed
@pytest.mark.parametrize(("change", "named"), [
    ({"dataset": "chain_som"}, "chain_som"), ({"arguments": {"no_such": 1}}, "no_such"),
    ({"threshold": 0}, r"task\.options\.threshold=0"),
])  # fmt: skip
def test_what_a_generator_does_not_take_is_named(change, named):
    with pytest.raises(ValueError, match=named):
        load(config(**change))


def test_a_score_counts_from_its_threshold_on_and_the_answer_is_tagged_or_boxed(tmp_path, monkeypatch):
    (tmp_path / "reasoning_gym.py").write_text(GENERATOR)
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location("reasoning_gym", tmp_path / "reasoning_gym.py")
    monkeypatch.setitem(sys.modules, "reasoning_gym", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(sys.modules["reasoning_gym"])
    template = '{question} Answer as {{"answer": 2}}'
    half = {"dataset": "half", "arguments": {}, "threshold": 0.5}
    task = load(config(**half, template=template))
    assert task.train[1].prompt == '1 {+} 1? Answer as {"answer": 2}'
    answers = ["<answer>1</answer> no: <answer> 2 </answer>", r"\boxed{1}", "four", "<answer>0"]
    scores = task.verifier([task.train[1]] * 4, answers)
    assert [score.outcome for score in scores] == ["correct", "correct", "no_answer", "wrong"]
    with pytest.raises(ValueError, match="needs 'entry'"):
        task.verifier([Prompt("e", "?", {"source": "{}"})], ["<answer>1</answer>"])
    task.close()
    for template in ("{question} {}", '{question} {"answer": 2}'):
        with pytest.raises(ValueError, match=r"template=.*\['question'\], other braces doubled"):
            load(config(**half, template=template))
