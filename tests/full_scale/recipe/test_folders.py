from pathlib import Path

from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import Recipe


def test_runs_share_a_presampling_and_nothing_else():
    first, second = (Folders.of(Recipe(name="a", output="out", seed=seed)) for seed in (0, 1))
    assert first.presample == second.presample == Path("out/presample")
    assert first.base() == second.base()
    mine = {getattr(first, name) for name in ("here", "checkpoints", "model", "training", "evaluation")}
    yours = {getattr(second, name) for name in ("here", "checkpoints", "model", "training", "evaluation")}
    assert len(mine | yours) == 10
    assert all(path == first.here or path.parent == first.here for path in mine)


def test_every_path_is_where_it_is_said_to_be():
    folders = Folders.of(Recipe(name="a", output="out", seed=3))
    assert folders.here == Path("out/a-seed3")
    assert folders.checkpoints == Path("out/a-seed3/checkpoints")
    assert folders.model == Path("out/a-seed3/model")
    assert folders.training == Path("out/a-seed3/training.json")
    assert folders.evaluation == Path("out/a-seed3/evaluation.json")
    assert folders.base().evaluation == Path("out/base/evaluation.json")
