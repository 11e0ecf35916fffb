import importlib.util
import sys
from types import SimpleNamespace

import pytest

from full_scale.recipe.schema import TaskConfig
from full_scale.tasks.gym import GymVerifier, load
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import Prompt

installed = pytest.mark.skipif(importlib.util.find_spec("reasoning_gym") is None, reason="the extra gym")
GENERATOR = """
class Half:
    def __getitem__(self, at):
        return {"question": "?", "answer": "2", "entry": at}

    def score_answer(self, answer, entry):
        return float(answer) / 2 * (entry["entry"] == 1)

def create_dataset(name, size, seed):
    return Half()
"""
"""A package of one generator, whose answer 2 scores 1."""
OPTIONS = {
    "dataset": "chain_sum",
    "size": 4,
    "evaluation_size": 2,
    "arguments": {"max_terms": 3},
    "workers": 1,
}


@installed
@pytest.mark.slow
def test_a_generator_is_a_task_with_binary_verdicts():
    task = load_task(TaskConfig(name="reasoning-gym", options=OPTIONS))
    try:
        assert [example.id for example in task.train] == [f"train/{i}" for i in range(4)]
        assert len(task.evaluation["in_domain"]) == 2
        example = task.train[0]
        numbers = example.prompt.split(":")[1].split("=")[0]
        right = sum(int(number) for number in numbers.replace("- ", "-").replace("+ ", "").split())
        answers = [f"<answer>{right}</answer>", rf"\boxed{{{right}}}", f"<answer>{right + 1}</answer>", "?"]
        scores = task.verifier([example] * 4, answers)
        assert [score.outcome for score in scores] == ["correct", "correct", "wrong", "no_answer"]
        assert load_task(TaskConfig(name="reasoning-gym", options=OPTIONS)).train == task.train
    finally:
        task.verifier.close()


@installed
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dataset": "chain_som"}, "chain_som"),
        ({"arguments": {"no_such": 1}}, "no_such"),
        ({"threshold": 0}, r"task\.options\.threshold=0"),
    ],
)
def test_what_a_generator_does_not_take_is_named(change, named):
    with pytest.raises(ValueError, match=named):
        load(TaskConfig(name="reasoning-gym", options=OPTIONS | change))


def test_braces_in_a_template_are_doubled_and_others_are_named(monkeypatch):
    made = SimpleNamespace(create_dataset=lambda name, **settings: [{"question": "1 {+} 1?"}])
    monkeypatch.setitem(sys.modules, "reasoning_gym", made)
    options = OPTIONS | {"template": '{question} Answer as {{"answer": 2}}'}
    task = load(TaskConfig(name="reasoning-gym", options=options))
    assert task.train[0].prompt == '1 {+} 1? Answer as {"answer": 2}'
    task.close()
    for template in ("{question} {}", '{question} {"answer": 2}'):
        with pytest.raises(ValueError, match=r"template=.*\['question'\], other braces doubled"):
            load(TaskConfig(name="reasoning-gym", options=OPTIONS | {"template": template}))


def test_a_score_counts_from_its_threshold_on_and_the_answer_is_tagged_or_boxed(tmp_path, monkeypatch):
    (tmp_path / "reasoning_gym.py").write_text(GENERATOR)
    monkeypatch.syspath_prepend(tmp_path)
    source = '{"dataset": "half", "seed": 3, "size": 2, "arguments": {}}'
    answers = ["<answer>1</answer> no: <answer> 2 </answer>", r"\boxed{1}", "four", "<answer>0"]
    with GymVerifier(0.5, workers=1) as verifier:
        scores = verifier([Prompt("e", "?", {"source": source, "entry": 1})] * 4, answers)
        assert [score.outcome for score in scores] == ["correct", "correct", "no_answer", "wrong"]
        with pytest.raises(ValueError, match="needs 'entry'"):
            verifier([Prompt("e", "?", {"source": "{}"})], ["<answer>1</answer>"])
