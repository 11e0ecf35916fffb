"""Selection of anchors: a few prompts whose base answers are rehearsed, to limit drift on similar ones."""

from pathlib import Path

import numpy as np

from dph_theory.support.errors import argument_error
from dph_theory.transfer import AnswerKernel, chosen_anchors

from ..models.generation import derived_seed
from ..models.load import ModelHashes
from ..recipe.schema import Recipe
from ..tasks.protocol import Task


def anchors_of(recipe: Recipe, task: Task, hashes: ModelHashes) -> frozenset[str]:
    """Choose the ids of the `presample.anchors` prompts at random, or by the kernel of `dph transfer`.

    A kernel selects the prompts that explain most of it. Raises ValueError for as many anchors as prompts, a
    kernel of another model, or a kernel with too few of the prompts.
    """
    count, file = recipe.presample.anchors, recipe.presample.kernel
    names = [example.id for example in task.train]
    if count >= len(names):
        raise argument_error(
            "presample.anchors", count, f"fewer than the {len(names)} prompts: the others are explored"
        )
    if file is None:
        drawn = np.random.default_rng(derived_seed(recipe.seed, "presample", "anchors"))
        return frozenset(names[place] for place in drawn.choice(len(names), count, replace=False))
    kernel = AnswerKernel.load(Path(file))
    if kernel.about.get("model") != hashes.as_dict():
        raise argument_error(
            "presample.kernel", file, "a kernel of this run's model: dph transfer --config measures it"
        )
    places = kernel.places("train")
    candidates = [places[name] for name in names if name in places]
    if len(candidates) < max(count, 1):
        raise argument_error(
            "presample.kernel",
            file,
            f"one with at least {count} of the training prompts; it has {len(candidates)}",
        )
    return frozenset(kernel.names[i] for i in chosen_anchors(kernel.log_odds.kernel, candidates, count))
