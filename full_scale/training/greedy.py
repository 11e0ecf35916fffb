"""A small evaluation while a training runs: greedy answers, which no sampling noise moves."""

from dataclasses import replace
from typing import Any

from transformers import TrainerCallback

from dph_theory.support.errors import argument_error

from ..models.generation import prompt_tokens, sample
from ..recipe.schema import Recipe
from ..tasks.protocol import Task


class GreedyEvaluation(TrainerCallback):
    """Logs `evaluation/greedy`, the share of correct greedy answers, at every `evaluate.every`-th step.

    The prompts are the first `evaluate.every_limit` of the first evaluation set. Neither weights nor random
    numbers are touched. Every process answers all of them: sharded weights are gathered in step. ValueError
    for a task without an evaluation set.
    """

    def __init__(self, trainer: Any, recipe: Recipe, task: Task) -> None:
        if not task.evaluation:
            raise argument_error("evaluate.every", recipe.evaluate.every, "none: the task has no such set")
        self.trainer, self.recipe, self.task = trainer, recipe, task
        self.examples = next(iter(task.evaluation.values()))[: recipe.evaluate.every_limit]

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Evaluate, if it is time."""
        if state.global_step % (self.recipe.evaluate.every or state.max_steps):
            return
        tokenizer, sampling = self.trainer.processing_class, self.recipe.sampling
        prompts = prompt_tokens(tokenizer, self.task, self.examples, chat=self.recipe.model.chat)
        # An engine of its own would answer with the initial weights.
        own = replace(sampling, backend="transformers")
        answers = sample(self.trainer.model, tokenizer, prompts, 1, own, self.recipe.seed, greedy=True)
        scores = self.task.verifier(self.examples, [answer.text for (answer,) in answers])
        share = sum(score.correct for score in scores) / len(scores)
        self.trainer._metrics["train"]["evaluation/greedy"].append(share)
