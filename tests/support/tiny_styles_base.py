"""A base of the styles experiment small enough to be trained in a test."""

from functools import cache

from toy_lm.styles.samples import presample
from toy_lm.styles.tasks import make_task
from toy_lm.styles.train import TrainingSettings, pretrain
from toy_lm.styles.transformer import exact_distribution

BASE = {"base_pass": 0.2, "base_rate": 1e-2, "base_rows": 64}
SETTINGS = TrainingSettings(width=16, group=4, presamples=1, stored=4, anchor_rows=16, check=40, **BASE)


@cache
def base():
    """The task of seed 0, a base for it, and the base's law."""
    task = make_task(0)
    model = pretrain(task, SETTINGS, seed=0)
    return task, model, exact_distribution(model, task.prompts)


def rehearsed():
    """The small base's D_pef."""
    task, _, law = base()
    return presample(law, task, presamples=SETTINGS.presamples, stored=SETTINGS.stored, seed=0)
