from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.rule_task import ruled_recipe, ruled_task

from full_scale.training.greedy import GreedyEvaluation


def test_a_task_without_an_evaluation_set_is_refused(tmp_path):
    recipe = ruled_recipe(tmp_path)
    watched = replace(recipe, evaluate=replace(recipe.evaluate, every=2))
    with pytest.raises(ValueError, match=r"evaluate\.every=2"):
        GreedyEvaluation(SimpleNamespace(), watched, replace(ruled_task(), evaluation={}))
