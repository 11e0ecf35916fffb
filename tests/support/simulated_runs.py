"""Runs simulated from exact laws on a few outcomes, in the records that the stages write: truth is known."""

import json
from dataclasses import dataclass, field

import numpy as np

from dph_theory import filtered, tilted
from dph_theory.support.checking import build
from dph_theory.support.record import as_json, record
from full_scale.evaluation.evaluated_run import (
    EvaluatedSet,
    Evaluation,
    ModelHash,
    PromptAnswers,
    RehearsedRow,
    summary,
)
from full_scale.recipe.methods import setup
from full_scale.recipe.objective import DEFAULTS
from full_scale.recipe.schema import Recipe
from full_scale.validation.measurements import read_runs
from full_scale.validation.predictions import predictions
from full_scale.validation.sanity_checks import sanity_checks


@dataclass
class Laws:
    """Per prompt: the base's law, the verifier, the trained policy's law, each (prompts, outcomes)."""

    base: np.ndarray
    valid: np.ndarray
    policy: np.ndarray
    texts: np.ndarray | None = None
    """Which text each prompt has, if some share one: prompts of one text have one base and one policy."""


def base_laws(rng, prompts, *, outcomes=6, concentration=1.0):
    base = rng.dirichlet([concentration] * outcomes, size=prompts)
    valid = np.zeros((prompts, outcomes), dtype=bool)
    for row in valid:
        row[rng.permutation(outcomes)[: rng.integers(1, outcomes - 1)]] = True
    return base, valid


def kl_control(rng, prompts, beta, **options):
    """Every prompt at the optimum of KL control: on the frontier, odds grown by exp(1/beta)."""
    base, valid = base_laws(rng, prompts, **options)
    return Laws(base, valid, tilted(base, valid, np.full(prompts, beta)))


def collapsed(rng, prompts, pass_rate=0.9, **options):
    """Nearly all valid mass on the likeliest valid outcome of each prompt."""
    base, valid = base_laws(rng, prompts, **options)
    best = np.where(valid, base, 0).argmax(axis=1)
    policy = (1 - pass_rate) * base + pass_rate * np.eye(base.shape[1])[best]
    return Laws(base, valid, policy)


def rehearsing(rng, prompts, mass, **options):
    """m p_* on the valid outcomes, the rest as the base: equality in the guarantee. mass None: the base's."""
    base, valid = base_laws(rng, prompts, **options)
    laws = Laws(base, valid, base)
    laws.policy = base if mass is None else at_mass(laws, np.full(prompts, mass))
    return laws


def at_mass(laws, mass):
    """The policies of these pass rates (prompts,) with the base's shares among valid and among failed."""
    rate = np.where(laws.valid, laws.base, 0).sum(axis=1, keepdims=True)
    mass = mass[:, None]
    return laws.base * np.where(laws.valid, mass / rate, (1 - mass) / (1 - rate))


def shared_text(rng, texts, beta, *, prompts=5, outcomes=6):
    """Texts of several prompts each, whose verdicts differ: the law is tilted by the mean verdict."""
    base = rng.dirichlet([5.0] * outcomes, size=texts)
    valid = rng.random((texts, prompts, outcomes)) < 0.4
    law = base * np.exp(valid.mean(axis=1) / beta)
    law /= law.sum(axis=1, keepdims=True)
    together = np.arange(texts).repeat(prompts)
    return Laws(base[together], valid.reshape(-1, outcomes), law[together], together)


def draw(rng, laws, samples):
    """Outcome indices (prompts, samples), from laws (prompts, outcomes)."""
    uniform = rng.random((len(laws), samples, 1))
    return (uniform > laws.cumsum(axis=1)[:, None, :-1]).sum(axis=2)


def prompts_of(rng, laws, law, samples):
    """The entries of an evaluated set."""
    drawn = draw(rng, law, samples)
    take = lambda table: np.take_along_axis(table, drawn, axis=1).tolist()  # noqa: E731
    texts = np.arange(len(law)) if laws.texts is None else laws.texts
    means = np.array([laws.valid[texts == text].mean(axis=0) for text in texts])
    with np.errstate(divide="ignore"):
        columns = take(laws.valid.astype(int)), take(np.log(law)), take(np.log(laws.base)), take(means)
    return tuple(
        PromptAnswers(
            id=f"p{index}",
            question=f"t{texts[index]}",
            correct=tuple(correct),
            log_pi=tuple(log_pi),
            log_ref=tuple(log_ref),
            mean_correct=None if laws.texts is None else tuple(shared),
        )
        for index, (correct, log_pi, log_ref, shared) in enumerate(zip(*columns, strict=True))
    )


def rehearsed_rows(rng, laws, rows):
    """Draws of p_* with their log-probabilities, as the rehearsal buffer holds them."""
    drawn = draw(rng, filtered(laws.base, laws.valid), rows)
    log_ref, log_pi = (np.log(np.take_along_axis(law, drawn, axis=1)) for law in (laws.base, laws.policy))
    return tuple(
        RehearsedRow(f"p{index}", float(log_ref[index, at]), float(log_pi[index, at]))
        for index, at in np.ndindex(drawn.shape)
    )


@dataclass
class Simulated:
    """What to simulate; `write` makes the folders that `compare` reads and returns the run's."""

    laws: Laws
    samples: int = 32
    where: tuple[str, ...] = ("in_domain",)
    method: dict = field(default_factory=lambda: {"name": "GRPO"})
    training: dict = field(default_factory=dict)
    train: dict = field(default_factory=dict)
    presample: dict = field(default_factory=dict)

    def evaluation(self, rng, name, law):
        """The results of an evaluation of that law."""
        drawn = {where: prompts_of(rng, self.laws, law, self.samples) for where in self.where}
        sets = {where: EvaluatedSet(prompts, summary(prompts, (1,))) for where, prompts in drawn.items()}
        return as_json(Evaluation(name, ModelHash("0"), sets, ModelHash("0")))

    def write(self, rng, folder, change=None):
        run = self.evaluation(rng, "run-seed0", self.laws.policy)
        base = self.evaluation(rng, "base", self.laws.base)
        if "rehearsed" in self.where:
            run["rehearsed"] = as_json(rehearsed_rows(rng, self.laws, 8))
        if change is not None:
            change(run)
        known = {"log": [], "base_rates": {}, "rehearsed": [], "explored": [], "steps": 0, "seconds": None}
        known |= {"run": "run-seed0", "method": self.method["name"], "initial_hash": "0", "trained_hash": "1"}
        config = {"method": self.method, "train": self.train, "presample": {"k": 8, **self.presample}}
        recipe = build(Recipe, config, "")
        given = known | self.training
        rates = [given["base_rates"][name] for name in given["explored"]]
        known["arguments"] = {**DEFAULTS, **setup(recipe.method, rates, recipe.train).arguments}
        training = {**known, **self.training}
        for name, kind, results in (
            ("run-seed0", "evaluation", run),
            ("run-seed0", "training", training),
            ("base", "evaluation", base),
        ):
            (folder / name).mkdir(parents=True, exist_ok=True)
            value = record(f"full_scale.{kind}", seed=0, config=config, results=results, findings=[])
            (folder / name / f"{kind}.json").write_text(json.dumps(value))
        return folder / "run-seed0"


def shifted(by):
    """A planted violation: sequence log-probabilities that are off, as at another temperature."""

    def change(results):
        for found in results["sets"].values():
            for prompt in found["prompts"]:
                prompt["log_pi"] = [value - by for value in prompt["log_pi"]]

    return change


def measured(simulated, folder, change=None):
    """The run that `simulated(rng)` describes, as it is read."""
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([simulated(rng).write(rng, folder, change)])
    return run


def told(simulated, folder, change=None):
    """Its sanity checks and predictions, by name."""
    run = measured(simulated, folder, change)
    return {line.name: line for line in (*sanity_checks(run), *predictions(run))}


def row(simulated, folder, name):
    """The one of that name."""
    return told(simulated, folder)[name]


def controlled(prompts=200, *, beta=0.5, told=None, samples=32, method="KL-control-sequence", **changes):
    """KL control at its optimum, whose record tells another beta if `told` is given."""
    changes |= {"samples": samples, "where": ("explored",), "method": {"name": method, "beta": told or beta}}
    return lambda rng: Simulated(kl_control(rng, prompts, beta), **changes)


def rehearsed(mass, name="DPH-F", prompts=200, **method):
    """Runs whose policy is m p_* on the valid outcomes, under a method of that name."""
    form = {"where": ("rehearsed",), "method": {"name": name, **method}}
    return lambda rng: Simulated(rehearsing(rng, prompts, mass, outcomes=4, concentration=4.0), **form)
