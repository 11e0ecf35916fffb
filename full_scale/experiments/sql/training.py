"""Trainings on the SQL task: the base is measured once, and each run at several steps."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from transformers import TrainerCallback

from dph_theory.numeric.roots import rising_root
from dph_theory.support.progress import silent
from dph_theory.transfer.retention import group_weighting, trained_shares

from ...demo import SIZE
from ...models.generation import Completion, derived_seed
from ...models.load import LoadedModel, ModelHashes, load
from ...presampling.presample import presample
from ...presampling.result import Presampling
from ...recipe.folders import RECORD, Folders
from ...recipe.schema import Recipe, load_recipe
from ...sampling.answers import AnsweringModel
from ...storage.locks import locked
from ...tasks.loaders import load_task
from ...tasks.protocol import Prompt, Score, Task, Verifier
from ...tasks.tiny_sql.task import MODEL, build
from ...training.train import build_trainer
from .runs import (
    ANSWERS,
    BASE_ANSWERS,
    HOTTER_ANSWERS,
    STEPS,
    TEMPERATURES,
    TRAINED_ANSWERS,
    Answered,
    Checkpoint,
    Divisor,
    FinishedSqlRun,
    MeasuredBase,
    SharesForecast,
    SqlRun,
)

SET, OTHER = "in_domain", "other"
FLOW_TIMES = np.concatenate([[0.0], np.geomspace(0.01, 3000.0, 240)])
"""Times of the forecast's flow: steps times the effective logit step."""


def recipe_of(run: SqlRun, folder: Path, output: Path) -> Recipe:
    """The packaged recipe with the run's changes, on the task stored in `folder`."""
    task = folder / "task"
    places = (f"output={output}", f"model.path={task / MODEL}", f"task.data={task}")
    return load_recipe("tiny-sql", (*places, *run.overrides, "train.save_steps=100000"))


def measured_base(folder: Path) -> MeasuredBase:
    """Build the task in `folder`, pre-sample its model, and measure that model's answers."""
    build(folder / "task", SIZE)
    recipe = recipe_of(SqlRun("divisors"), folder, folder / "shared")
    task = load_task(recipe.task)
    try:
        initial = load(recipe.model)
        presampling = _presampled(recipe, task, initial)
        policy = AnsweringModel(recipe, task, initial)
        held_out = _Set(task.evaluation[SET])
        trained = _Set(_explored(task, presampling))
        of_held_out = held_out.answers(policy, BASE_ANSWERS, derived_seed(0, "base held-out"))
        of_trained = trained.answers(policy, 4 * TRAINED_ANSWERS, derived_seed(0, "base trained"))
        passed = held_out.passed(task.verifier, of_held_out)
        return MeasuredBase(
            held_out=held_out.answered(task.verifier, of_held_out),
            trained=trained.answered(task.verifier, of_trained),
            verdicts={
                text: tuple(np.bincount(passed[text], minlength=len(prompts) + 1).tolist())
                for text, prompts in held_out.texts.items()
            },
            successes=trained.successes(task.verifier, of_trained),
            solved=len(presampling.pef),
            explored=len(presampling.exp),
        )
    finally:
        task.close()


def shares_forecast(base: MeasuredBase, divided_by: Divisor, group_size: int) -> SharesForecast:
    """Forecast of Pass@k by the flow of style shares under this divisor, from the base's counts alone."""
    styles = [*base.successes]
    counts = np.array([base.successes[style] for style in styles], float)  # (styles, prompts, 2)
    correct, total = counts[..., 0], counts[..., 1]
    success = np.divide(correct, total, out=np.zeros_like(total), where=total > 0).T
    shares = np.array([base.trained.shares[style] for style in styles])
    rho = np.full(len(success), 1 / len(success))
    flow = trained_shares(shares, success, rho, group_weighting(group_size, divided_by), FLOW_TIMES)
    rates = flow @ success.T
    # Pass rates increase along the flow except for rounding, which would break the interpolation.
    columns = {k: (1 - (1 - rates) ** k).mean(axis=1) for k in (1, 8, 32)}
    return SharesForecast(
        divided_by,
        group_size,
        tuple(np.maximum.accumulate(columns[1]).tolist()),
        tuple(columns[8].tolist()),
        tuple(columns[32].tolist()),
        {style: tuple(flow[:, i].tolist()) for i, style in enumerate(styles)},
    )


def conduct(run: SqlRun, folder: Path, base: MeasuredBase) -> FinishedSqlRun:
    """Train from the measured base, and measure after each step in STEPS up to the run's last."""
    started = time.monotonic()
    with TemporaryDirectory() as output:
        shared = folder / ("shared" if not run.anchors else f"anchors-{run.anchors}")
        recipe = recipe_of(run, folder, shared)
        with locked(Folders.of_recipe(recipe).presample, wait=True):
            build(folder / "task", SIZE)  # A base that came with --from has its row and not its files.
            task = load_task(recipe.task)
        try:
            initial = load(recipe.model)
            with locked(Folders.of_recipe(recipe).presample, wait=True):
                presampling = _presampled(recipe, task, initial)
            course = _Course(replace(recipe, output=output), task, initial, presampling, base)
            trained_task = replace(task, verifier=ErringVerifier(task.verifier, run))
            hashes = ModelHashes.of_model(recipe.model.path)
            trainer = build_trainer(course.recipe, trained_task, presampling, hashes)
            trainer.add_callback(course)
            trainer.train()
            hotter = course.hotter(trainer.model) if run.method == "GRPO" else ()
        finally:
            task.close()
    return FinishedSqlRun(run, tuple(course.checkpoints), hotter, round(time.monotonic() - started, 1))


class ErringVerifier:
    """A verifier with the error rates of a run, whose errors follow from the run's seed."""

    def __init__(self, verifier: Verifier, run: SqlRun) -> None:
        self.verifier, self.rates = verifier, (run.false_positives, run.false_negatives)
        self.rng = np.random.default_rng([run.seed, 7])
        self.bound = {"false_positives": run.false_positives, "false_negatives": run.false_negatives}

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
        """Scores, a share of which is deliberately incorrect."""
        scores = self.verifier(examples, completions)
        if not any(self.rates):
            return scores
        draws = self.rng.random(len(scores))
        flipped = [bool(draw < self.rates[score.correct]) for draw, score in zip(draws, scores, strict=True)]
        return [
            replace(score, correct=score.correct != flip) for flip, score in zip(flipped, scores, strict=True)
        ]

    def close(self) -> None:
        """Close the wrapped verifier."""
        self.verifier.close()


class _Set:
    """Prompts by text: each text is answered once for all its databases."""

    def __init__(self, examples: Sequence[Prompt]) -> None:
        self.examples = examples
        self.texts: dict[str, list[Prompt]] = {}
        for example in examples:
            self.texts.setdefault(example.prompt, []).append(example)

    def answers(
        self, policy: AnsweringModel, n: int, seed: int, temperature: float = 1.0
    ) -> dict[str, list[Completion]]:
        """Sample n answers to each text from the policy, by text."""
        sampling = replace(policy.recipe.sampling, temperature=temperature)
        policy = replace(policy, recipe=replace(policy.recipe, sampling=sampling))
        firsts = [prompts[0] for prompts in self.texts.values()]
        return dict(zip(self.texts, policy.answers(firsts, n, seed), strict=True))

    def scores(
        self, verifier: Verifier, answers: Mapping[str, Sequence[Completion]]
    ) -> dict[tuple[str, str], Score]:
        """Score each distinct answer on each prompt, by the prompt's id and the answer's text."""
        pairs = [
            (example, text)
            for prompt, group in answers.items()
            for text in dict.fromkeys(answer.text for answer in group)
            for example in self.texts[prompt]
        ]
        scores = verifier([example for example, _ in pairs], [text for _, text in pairs])
        return {(example.id, text): score for (example, text), score in zip(pairs, scores, strict=True)}

    def style(self, scores: Mapping[tuple[str, str], Score], prompt: str, answer: Completion) -> str:
        """Style of an answer that is correct on some database of its text; OTHER for any other answer."""
        of_answer = [scores[example.id, answer.text] for example in self.texts[prompt]]
        return (of_answer[0].style or OTHER) if any(score.correct for score in of_answer) else OTHER

    def passed(self, verifier: Verifier, answers: Mapping[str, Sequence[Completion]]) -> dict[str, list[int]]:
        """Number of the text's databases on which each answer is correct, by text, in answer order."""
        scores = self.scores(verifier, answers)
        return {
            prompt: [sum(scores[e.id, answer.text].correct for e in self.texts[prompt]) for answer in group]
            for prompt, group in answers.items()
        }

    def answered(
        self, verifier: Verifier, answers: Mapping[str, Sequence[Completion]], temperature: float = 1.0
    ) -> Answered:
        """Judge the answers: numbers correct by prompt, and numbers of answers by style."""
        scores = self.scores(verifier, answers)
        correct = [sum(scores[e.id, a.text].correct for a in answers[e.prompt]) for e in self.examples]
        styles = Counter(
            self.style(scores, prompt, answer) for prompt, group in answers.items() for answer in group
        )
        (n,) = {len(group) for group in answers.values()}
        return Answered(n, tuple(correct), dict(sorted(styles.items())), temperature)

    def successes(
        self, verifier: Verifier, answers: Mapping[str, Sequence[Completion]]
    ) -> dict[str, tuple[tuple[int, int], ...]]:
        """Pairs (correct answers, all answers) of each style on each prompt, by style, in prompt order."""
        scores = self.scores(verifier, answers)
        counts: dict[str, list[list[int]]] = {}
        for number, example in enumerate(self.examples):
            for answer in answers[example.prompt]:
                style = self.style(scores, example.prompt, answer)
                rows = counts.setdefault(style, [[0, 0] for _ in self.examples])
                rows[number][0] += scores[example.id, answer.text].correct
                rows[number][1] += 1
        return {style: tuple((c, n) for c, n in rows) for style, rows in sorted(counts.items())}


class _Course(TrainerCallback):
    """Callback that measures the policy during training and changes neither weights nor random numbers."""

    def __init__(
        self, recipe: Recipe, task: Task, initial: LoadedModel, presampling: Presampling, base: MeasuredBase
    ) -> None:
        self.recipe, self.task, self.initial, self.base = recipe, task, initial, base
        self.held_out = _Set(task.evaluation[SET])
        self.trained = _Set(_explored(task, presampling))
        self.checkpoints: list[Checkpoint] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Measure the policy after a step in STEPS, and append the checkpoint."""
        if state.global_step in STEPS:
            self.checkpoints.append(self._checkpoint(objects["model"], state.global_step))

    def hotter(self, model: Any) -> tuple[Answered, ...]:
        """Answers of the model to the held-out prompts, sampled at each of TEMPERATURES, judged."""
        policy, verifier = self._policy(model), self.task.verifier
        answered = []
        for temperature in TEMPERATURES:
            seed = derived_seed(self.recipe.seed, "temperature", str(temperature))
            answers = self.held_out.answers(policy, HOTTER_ANSWERS, seed, temperature)
            answered.append(self.held_out.answered(verifier, answers, temperature))
        return tuple(answered)

    def _policy(self, model: Any) -> AnsweringModel:
        return AnsweringModel(self.recipe, self.task, replace(self.initial, model=model))

    def _checkpoint(self, model: Any, step: int) -> Checkpoint:
        policy, verifier = self._policy(model), self.task.verifier
        seeds = [derived_seed(self.recipe.seed, name, step) for name in ("held-out", "trained")]
        held_out = self.held_out.answers(policy, ANSWERS, seeds[0])
        trained = self.trained.answers(policy, TRAINED_ANSWERS, seeds[1])
        kl = self._kl(policy, held_out)
        passed = self.held_out.passed(verifier, held_out)
        least = [
            least_kl(np.array(self.base.verdicts[text]), float(np.mean(passed[text]))) for text in held_out
        ]
        return Checkpoint(
            step,
            self.held_out.answered(verifier, held_out),
            self.trained.answered(verifier, trained),
            float(np.mean(kl)),
            float(np.mean(np.subtract(kl, least))),
        )

    def _kl(self, policy: AnsweringModel, answers: Mapping[str, Sequence[Completion]]) -> list[float]:
        """Mean of log pi - log ref over the answers to each text, in nats."""
        firsts = [self.held_out.texts[text][0] for text in answers]
        pairs = [
            (tuple(prompt), answer.token_ids)
            for prompt, group in zip(policy.prompts(firsts), answers.values(), strict=True)
            for answer in group
        ]
        different = [*dict.fromkeys(pairs)]
        prompts, completions = [p for p, _ in different], [c for _, c in different]
        rows = [policy.log_probs(prompts, completions, model) for model in (None, self.initial.model)]
        ratios = {
            pair: float(pi.sum(dtype=np.float64) - ref.sum(dtype=np.float64))
            for pair, pi, ref in zip(different, *rows, strict=True)
        }
        return np.array([ratios[pair] for pair in pairs]).reshape(len(answers), -1).mean(axis=1).tolist()


def least_kl(counts: np.ndarray, mean: float) -> float:
    """Minimum KL to a base at which the mean number of databases passed is `mean`, in nats.

    The base passes j databases with probability counts[j] / counts.sum(). The base tilted by exp(lambda j)
    attains the minimum KL, or the base conditioned on its largest j if `mean` exceeds that j.
    """
    passes, shares = np.arange(len(counts)), counts / counts.sum()
    top = passes[counts > 0].max()
    mean = min(mean, float(top))

    def tilted(rate: np.ndarray) -> np.ndarray:
        logs = rate[..., None] * (passes - top)
        weights = shares * np.exp(np.minimum(logs, 700.0))
        return np.asarray((weights * passes).sum(axis=-1) / weights.sum(axis=-1))

    if mean <= float(shares @ passes):
        return 0.0
    rate = float(rising_root(lambda x: tilted(x) - mean, np.asarray(0.0), np.asarray(60.0)))
    logs = rate * (passes - top)
    return float(rate * (mean - top) - np.log((shares * np.exp(logs)).sum()))


def _presampled(recipe: Recipe, task: Task, initial: LoadedModel) -> Presampling:
    folder = Folders.of_recipe(recipe).presample
    if not (folder / RECORD).is_file():
        return presample(recipe, task, initial, progress=silent)
    # Runs of all seeds share the pre-sampling of the first.
    presampling = Presampling.load(folder)
    presampling.check(recipe, task, initial.hashes)
    return presampling


def _explored(task: Task, presampling: Presampling) -> list[Prompt]:
    examples = {example.id: example for example in task.train}
    return [examples[name] for name in presampling.exp]
