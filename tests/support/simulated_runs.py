"""Runs simulated from exact laws on a few outcomes, in the records that the stages write: truth is known."""

from dataclasses import dataclass, field

import numpy as np

from dph_theory import filtered, tilted
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from full_scale.comparison.instrument_checks import instrument_checks
from full_scale.comparison.measurements import read_runs
from full_scale.comparison.predictions import predictions
from full_scale.evaluation.record import (
    EvaluatedSet,
    Evaluation,
    ModelHash,
    PromptAnswers,
    Rehearsed,
    RehearsedRow,
    summary,
)


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


def collapsed(rng, prompts, validity=0.9, **options):
    """Nearly all valid mass on the likeliest valid outcome of each prompt."""
    base, valid = base_laws(rng, prompts, **options)
    best = np.where(valid, base, 0).argmax(axis=1)
    policy = (1 - validity) * base + validity * np.eye(base.shape[1])[best]
    return Laws(base, valid, policy)


def rehearsing(rng, prompts, mass, **options):
    """m p_* on the valid outcomes, the rest as the base: equality in the guarantee. mass None: the base's."""
    base, valid = base_laws(rng, prompts, **options)
    laws = Laws(base, valid, base)
    laws.policy = base if mass is None else at_mass(laws, np.full(prompts, mass))
    return laws


def at_mass(laws, mass):
    """The policies of these validities (prompts,) with the base's shares among valid and among failed."""
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
    take = lambda table: np.take_along_axis(table, drawn, axis=1)  # noqa: E731
    with np.errstate(divide="ignore"):
        columns = take(laws.valid), np.log(take(law)), np.log(take(laws.base))
    texts = np.arange(len(law)) if laws.texts is None else laws.texts
    means = np.array([laws.valid[texts == text].mean(axis=0) for text in texts])
    shared = np.take_along_axis(means, drawn, axis=1)
    greedy = np.take_along_axis(laws.valid, law.argmax(axis=1, keepdims=True), axis=1)[:, 0]
    return tuple(
        PromptAnswers(
            id=f"p{index}",
            question=f"t{texts[index]}",
            mean_correct=None if laws.texts is None else tuple(shared[index].tolist()),
            greedy=int(greedy[index]),
            correct=tuple(correct.astype(int).tolist()),
            log_pi=tuple(log_pi.tolist()),
            log_ref=tuple(log_ref.tolist()),
            styles=tuple(f"s{outcome}" for outcome in drawn[index]),
            outcomes={"correct": int(correct.sum()), "wrong": int((~correct).sum())},
        )
        for index, (correct, log_pi, log_ref) in enumerate(zip(*columns, strict=True))
    )


def rehearsed_rows(rng, laws, rows):
    """Draws of p_* with their log-probabilities, as the rehearsal buffer holds them."""
    drawn = draw(rng, filtered(laws.base, laws.valid), rows)
    log_ref = np.log(np.take_along_axis(laws.base, drawn, axis=1))
    log_pi = np.log(np.take_along_axis(laws.policy, drawn, axis=1))
    return [
        RehearsedRow(f"p{index}", float(ref), float(pi))
        for index in range(len(drawn))
        for ref, pi in zip(log_ref[index], log_pi[index], strict=True)
    ]


def evaluation(name, sets, *, rows=(), seed=0):
    """An evaluation record."""
    found = {key: EvaluatedSet(prompts, summary(prompts, (1,))) for key, prompts in sets.items()}
    results = as_json(Evaluation(name, ModelHash("0"), found, Rehearsed(tuple(rows))))
    return record("full_scale.evaluation", seed=seed, config={}, results=results, findings=[])


@dataclass
class Simulated:
    """What to simulate; `write` makes the folders that `compare` reads and returns the run's."""

    laws: Laws
    samples: int = 32
    rows: int = 8
    where: tuple[str, ...] = ("in_domain",)
    method: dict = field(default_factory=lambda: {"name": "GRPO"})
    training: dict = field(default_factory=dict)
    train: dict = field(default_factory=dict)

    def records(self, rng):
        sets = {name: prompts_of(rng, self.laws, self.laws.policy, self.samples) for name in self.where}
        base = {name: prompts_of(rng, self.laws, self.laws.base, self.samples) for name in self.where}
        rows = rehearsed_rows(rng, self.laws, self.rows) if "rehearsed" in self.where else ()
        known = {"log": [], "base_rates": {}, "rehearsed": [], "explored": [], "steps": 0, "seconds": None}
        results = {"run": "run-seed0", "method": self.method["name"], **known, **self.training}
        config = {"method": self.method, "train": self.train, "presample": {"k": 8}}
        training = record("full_scale.training", seed=0, config=config, results=results, findings=[])
        run = evaluation("run-seed0", sets, rows=rows)
        return run, evaluation("base", base), training

    def write(self, rng, folder, *, change=lambda run: None):
        run, base, training = self.records(rng)
        change(run["results"])
        for name, kind, value in (
            ("run-seed0", "evaluation", run),
            ("run-seed0", "training", training),
            ("base", "evaluation", base),
        ):
            (folder / name).mkdir(parents=True, exist_ok=True)
            write_json(folder / name / f"{kind}.json", value)
        return folder / "run-seed0"


def shifted(by):
    """A planted violation: sequence log-probabilities that are off, as at another temperature."""

    def change(results):
        for found in results["sets"].values():
            for prompt in found["prompts"]:
                prompt["log_pi"] = [value - by for value in prompt["log_pi"]]

    return change


def lines(run):
    """Every instrument check and prediction of a run."""
    return [*instrument_checks(run), *predictions(run)]


def row(simulated, folder, name, change=lambda run: None):
    """The row of that name, of a run that `simulated(rng)` describes."""
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([simulated(rng).write(rng, folder, change=change)])
    (found,) = [line for line in lines(run) if line.name == name]
    return found


def controlled(prompts=200, *, beta=0.5, told=None, samples=32, method="KL-control-sequence", **changes):
    """KL control at its optimum, whose record tells another beta if `told` is given."""
    return lambda rng: Simulated(
        kl_control(rng, prompts, beta),
        samples=samples,
        where=("explored",),
        method={"name": method, "beta": told or beta},
        **changes,
    )


def rehearsed(mass, name="DPH-F", prompts=200, **method):
    """Runs whose policy is m p_* on the valid outcomes, under a method of that name."""
    return lambda rng: Simulated(
        rehearsing(rng, prompts, mass, outcomes=4, concentration=4.0),
        where=("rehearsed",),
        method={"name": name, **method},
    )
