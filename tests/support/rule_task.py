"""A task whose verifier is a rule on words, for a two-layer Llama with random weights: every verdict is
known.
"""

from dataclasses import replace

from dph_theory.intervals import Rate
from full_scale.models.load import ModelHashes, load
from full_scale.presampling.buffer import RehearsalBuffer, RehearsalRow
from full_scale.presampling.result import Presampling
from full_scale.recipe.schema import EvaluateConfig, ModelConfig, PresampleConfig, Recipe, SamplingConfig
from full_scale.tasks.protocol import Prompt, Score, Task
from support.tiny_llama import ON_A_CPU, tiny_llama, tiny_tokenizer

TRAIN = ON_A_CPU | {"learning_rate": 1e-3, "max_steps": 3, "save_steps": 1, "collapse_every": 1}
"""Settings of a training of three steps."""
PEF = ("e0", "e4")


class Rule:
    """Correct if the first word's number is below the example's bound; the style is the parity of that
    number.
    """

    def __call__(self, examples, completions):
        return [self.score(example, text) for example, text in zip(examples, completions, strict=True)]

    @staticmethod
    def score(example, text):
        words = text.split()
        if not words:
            return Score(False, "no_answer")
        number = int(words[0][1:])
        correct = number < example.reference["bound"]
        return Score(correct, "correct" if correct else "wrong", "odd" if number % 2 else "even")

    def close(self):
        pass


def ruled_task(bounds=(16, 8, 15, 4, 16, 10, 12, 0)):
    train = [Prompt(f"e{i}", f"p{i} p{7 - i}", {"bound": bound}) for i, bound in enumerate(bounds)]
    other = [Prompt(f"o{i}", f"p{i} w{i}", {"bound": 9}) for i in range(3)]
    return Task("ruled", train, {"in_domain": other}, Rule())


def ruled_recipe(folder, **changes):
    """A recipe whose model is made in the folder; three prompts of the training set a batch."""
    model = folder / "model"
    if not model.exists():
        tiny_llama(model, hidden=16, scale=2.0)
    recipe = Recipe(
        name="run",
        output=str(folder / "runs"),
        seed=5,
        model=ModelConfig(path=str(model)),
        sampling=SamplingConfig(temperature=0.9, max_new_tokens=12, batch_size=3),
        presample=PresampleConfig(k=6, threshold=4, buffer_per_prompt=3),
        evaluate=EvaluateConfig(samples=4, k=(1, 2, 4)),
    )
    return replace(recipe, **changes)


def loaded(path):
    return load(ModelConfig(path=str(path)))


def stage_inputs(folder, method, *, rows=4, exp=None, model=None, **changes):
    """What a training stage is given: recipe, task, a pre-sampling made by hand, the model's hashes.

    e0 and e4 are rehearsed, the others explored; `changes` are made in TRAIN, `model` in the recipe's model.
    """
    recipe = ruled_recipe(folder, train={**TRAIN, **changes}, method=method)
    recipe = replace(recipe, model=ModelConfig(path=recipe.model.path, **(model or {})))
    task, tokenizer = ruled_task(), tiny_tokenizer()
    hashes = ModelHashes.of_model(recipe.model.path)
    prompts = {example.id: tokenizer(example.prompt)["input_ids"] for example in task.train}
    answers = [(PEF[i % 2], tokenizer(f"w{i} w2")["input_ids"]) for i in range(rows)]
    made = [RehearsalRow(name, prompts[name], answer, [-3.0, -3.0]) for name, answer in answers]
    explored = [example.id for example in task.train if example.id not in PEF] if exp is None else exp
    presampling = Presampling(
        rates={example.id: Rate.of_counts(i, 8) for i, example in enumerate(task.train)},
        pef=PEF,
        exp=tuple(explored),
        buffer=RehearsalBuffer.from_rows(made, {**hashes.as_dict(), "temperature": 0.9}),
        outcomes={},
        unfinished=0,
        identity={},
    )
    return recipe, task, presampling, hashes
