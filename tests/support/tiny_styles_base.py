"""A base small enough to be trained in a test, and results made up to test what is said of them."""

from functools import cache

from toy_lm.styles import Config
from toy_lm.styles.samples import presample
from toy_lm.styles.tasks import make_task
from toy_lm.styles.train import TrainingSettings, pretrain
from toy_lm.styles.transformer import exact_law

SETTINGS = TrainingSettings(
    width=16,
    base_pass=0.2,
    base_rate=1e-2,
    base_rows=64,
    group=4,
    presamples=1,
    stored=4,
    anchor_rows=16,
    check=40,
)
TINY = Config(
    methods=("DAPO", "DPH-F"),
    seeds=1,
    updates=8,
    every=4,
    strengths=(0.03,),
    place_strengths=(0.03,),
    long_methods=("DPH-F",),
    long_updates=12,
    workers=1,
    settings=SETTINGS,
)


@cache
def base():
    """The task of seed 0, a base for it, and the base's law."""
    task = make_task(0)
    model = pretrain(task, SETTINGS, seed=0)
    return task, model, exact_law(model, task.prompts)


def rehearsed():
    """The small base's D_pef."""
    task, _, law = base()
    return presample(law, task, presamples=SETTINGS.presamples, stored=SETTINGS.stored, seed=0)


def end(first, sixteenth, last, **more):
    """What `at_the_end` gives, with Pass@k for k = 1, 16 and 256 only."""
    return {
        "pass_at_k": [first, sixteenth, last],
        "style_entropy": 1.5,
        "distinct_styles": 4.0,
        "style_histogram": [32.0],
        "excess": 0.1,
        "base_solved": 1,
        "base_unsolved": 0,
        "retention": 1.0,
        **more,
    }


def made_up(**runs):
    """Results with one base at (0.4, 0.9, 1) and one run a name: its end, or its end and its curve."""
    rehearsed = {"rehearsed_prompts": 1, "rehearsed_samples": 1}
    base = {"seed": 0} | rehearsed | {"train": end(0.4, 0.9, 1.0), "held_out": end(0.4, 0.9, 1.0)}
    curve = {
        "update": [0, 10, 20],
        "pass_at_8": [0.8, 0.8, 0.8],
        "pass_at_16": [0.9, 0.9, 0.9],
        "excess": [0.0, 0.0, 0.0],
    }
    common = {
        "seed": 0, "updates": 20, "groups": ["main"], "place": "explored",
        "guarantee": 0.9, "rehearsed_pass": 0.95, "guarantee_margin": 0.01,
    }  # fmt: skip
    entries = []
    for name, what in runs.items():
        ends = {"train": what["end"], "held_out": what.get("held_out", what["end"])}
        along = {"curve": curve | what.get("curve", {})}
        entries.append(common | {"label": name, "name": name} | what | along | ends)
    return {"k": [1, 16, 256], "bases": [base], "runs": entries}
