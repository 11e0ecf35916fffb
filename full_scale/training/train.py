"""Training stage: turns a recipe and its pre-sampling into a trained model and a record of the training."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback

from dph_theory.intervals import smoothed_rate
from dph_theory.support.checking import build
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.progress import NotedProgress, silent
from dph_theory.support.record import flat

from ..models.generation import prompt_of
from ..models.load import (
    ModelHashes,
    declared_stop_tokens,
    load_tokenizer,
    load_trainable,
    lora_config,
    model_hash,
)
from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.schema import Recipe
from ..tasks.protocol import Task
from .arguments import arguments, check_sets, few_prompts
from .card import write_card
from .collapse_meter import CollapseMeter
from .judging import FurtherReward, VerifierReward
from .metrics import CERTIFIED, EQUAL_REWARDS, StepReport
from .online import OnlineConfig, OnlineTrainer, divergence_code
from .resume import export, has_weights, last_checkpoint
from .trained_run import TrainingRecord

_CODE = "divergence code"


def train(
    recipe: Recipe,
    task: Task,
    presampling: Presampling,
    hashes: ModelHashes,
    *,
    progress: NotedProgress | None = None,
    say: Callable[[Sequence[str]], None] | None = None,
) -> TrainingRecord:
    """Train on D_exp, from the last complete checkpoint if there is one; returns the record.

    `presampling` and `hashes` are those of the recipe's model. The trained model goes to `Folders.model` and
    the record to `Folders.training`, each atomically; then the checkpoints are removed, unless the recipe
    keeps them. An existing record is returned, unless `max_steps` has grown: then the training goes on.
    `progress` is called with ("train", step, steps, measurements), `say` with notes for the user at the
    start. RefusedError if D_exp is empty or smaller than a generated batch, for a rehearsal without D_pef,
    and for a buffer from another model, tokeniser or temperature; ValueError for a folder with another
    recipe's training.
    """
    folders = Folders.of_recipe(recipe)
    earlier = _finished(folders, recipe, hashes)
    if earlier is not None:
        return earlier
    trainer = build_trainer(recipe, task, presampling, hashes)
    if say is not None:
        say(opening_sentences(vars(trainer.args)))
    trainer.add_callback(StepReport(progress or silent))
    trainer.train(resume_from_checkpoint=True)
    export(trainer, folders.model, recipe.model.dtype)
    trainer.accelerator.wait_for_everyone()
    trained_hash = model_hash(folders.model, {recipe.model.path: hashes.model})
    record = _record(trainer, recipe, presampling, hashes, trained_hash)
    if trainer.accelerator.is_main_process:
        record.write(folders.training)
        write_card(folders)
        if not trainer.args.keep_moments:
            shutil.rmtree(folders.checkpoints, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    return record


def build_trainer(recipe: Recipe, task: Task, presampling: Presampling, hashes: ModelHashes) -> OnlineTrainer:
    """Build the trainer of a recipe, ready to start; errors as in `train`."""
    trained = presampling.trained(recipe.method.prompts)
    weights = {name: reward.weight for name, reward in task.rewards.items()}
    method = arguments(recipe, presampling.values(trained), weights)
    got = dict(method.arguments)
    if got["use_vllm"] and recipe.sampling.stop:
        # TRL tells its engine of no token but those that the model's own folder declares.
        ends = declared_stop_tokens(recipe.model, recipe.sampling.stop)
        got["generation_kwargs"] = {"stop_token_ids": ends}
    args = OnlineConfig(**got)
    check_sets(recipe, method, args.generation_batch_size // args.num_generations, presampling)
    examples = {example.id: example for example in task.train}
    chosen = [examples[name] for name in trained]
    # A target pass rate needs prompts of different texts: those of one text act as one.
    if recipe.method.mu is not None and len({example.prompt for example in chosen}) < len(chosen):
        allowed = "method.beta instead: several prompts have one text, and their pass rates give no beta"
        raise argument_error("method.mu", recipe.method.mu, allowed)
    if method.rehearses:
        presampling.buffer.check(**hashes.as_dict(), temperature=recipe.sampling.temperature)
    # The posterior mean under Jeffreys' prior: a rate of 0 or 1 in a few rollouts is not known to be one.
    rates = {name: float(smoothed_rate(rate.correct, rate.n)) for name, rate in presampling.rates.items()}
    trainer = OnlineTrainer(
        model=load_trainable(recipe.model, recipe.sampling.stop),
        reward_funcs=[
            VerifierReward(task),
            *(FurtherReward(name, reward.scorer, task) for name, reward in task.rewards.items()),
        ],
        args=args,
        train_dataset=Dataset.from_list(
            [{"prompt": prompt_of(e, task, recipe.model.chat), "example_id": e.id} for e in chosen]
        ),
        processing_class=load_tokenizer(recipe.model),
        peft_config=lora_config(recipe.model),
        rehearsal=presampling.buffer if method.rehearses else None,
        base_rates=rates,
        rate_samples=recipe.presample.k,
    )
    trainer.notes, trainer.arguments = method.notes, got
    model = {f"model.{key}": getattr(recipe.model, key) for key in ("attention", "chat", "lora")}
    trainer.bound = {**model, "sampling.stop": recipe.sampling.stop, **hashes.as_dict()}
    trainer.remove_callback(PrinterCallback)
    if args.collapse_every:
        every, step, k = args.collapse_every, args.step_in_logits, recipe.presample.k
        meter = CollapseMeter(rates, key="example_id", every=every, step=step, rate_samples=k)
        meter.attach(trainer, trainer.reference)
    return trainer


def _record(
    trainer: OnlineTrainer, recipe: Recipe, presampling: Presampling, hashes: ModelHashes, trained_hash: str
) -> TrainingRecord:
    trained = presampling.trained(recipe.method.prompts)
    name, log = recipe.method.name, [entry for entry in trainer.state.log_history if "loss" in entry]
    return TrainingRecord(
        config=recipe.as_dict(),
        run=Folders.of_recipe(recipe).run,
        initial_hash=hashes.model,
        trained_hash=trained_hash,
        method=name,
        arguments={**trainer.arguments, _CODE: divergence_code(trainer.args.divergence)},
        log=log,
        base_rates={name: rate.value for name, rate in presampling.rates.items()},
        rehearsed=list(presampling.pef),
        explored=list(trained),
        steps=trainer.state.global_step,
        seconds=trainer.seconds,
        findings=[*trainer.notes, *_findings(name, log, trainer.args)],
    )


def _findings(method: str, log: list[dict[str, Any]], args: Any) -> list[str]:
    """Sentences on measures in the first and last tenth of the log, and on groups without signal."""
    sentences = []
    for key, what in (("reward", "mean reward"), ("collapse/excess_kl", "mean excess KL")):
        values = [entry[key] for entry in log if entry.get(key) is not None]
        width = max(1, len(values) // 10)
        first, last = (sum(part) / width for part in (values[:width], values[-width:]))
        logs = "log" if width == 1 else f"{width} logs"
        if len(values) > 1:
            sentences.append(f"{method}: {what} {first:.4g} over the first {logs}, {last:.4g} over the last.")
        elif values:
            sentences.append(f"{method}: {what} {first:.4g}, measured once.")
    certified = [entry[CERTIFIED] for entry in log if entry.get(CERTIFIED) is not None]
    if certified:
        sentences.append(f"{method}: {_certificate(certified[-1])}.")
    equal = [entry[EQUAL_REWARDS] for entry in log if entry.get(EQUAL_REWARDS) is not None]
    if equal and args.baseline == "mean" and args.online == "none":
        share = sum(equal) / len(equal)
        sentences.append(f"{method}: {share:.0%} of the groups had equal rewards, and no gradient from them.")
    return sentences


def _certificate(share: float) -> str:
    """Clause on the strategies that the last logged excess KL proves retained; `share` as in the log."""
    if round(share, 2) >= 1:
        return "the last excess KL proves of no strategy that it is retained"
    return (
        f"on half of the solved prompts of the last log no strategy of share {share:.2g} or more is lost "
        "(excess KL < -V log(1-s), two standard errors allowed)"
    )


def opening_sentences(arguments: Mapping[str, Any]) -> list[str]:
    """Notes on properties of a training's start that look like faults, from OnlineConfig's arguments."""
    sentences = [
        "The loss begins near 0 and is no measure of progress, though its gradient is not 0: see reward."
    ]
    if not arguments.get("beta"):
        meter = arguments.get("collapse_every")
        instead = "see collapse/kl" if meter else "train.collapse_every=10 logs collapse/kl instead"
        sentences.append(f"TRL logs no kl at beta = 0, where it computes none: {instead}.")
    cut = (arguments.get("steps_per_generation") or 0) * (arguments.get("num_generations") or 0)
    if cut:
        sentences += few_prompts(
            arguments["generation_batch_size"] / cut * arguments["gradient_accumulation_steps"]
        )
    return sentences


def _finished(folders: Folders, recipe: Recipe, hashes: ModelHashes) -> TrainingRecord | None:
    """Record of this very training, or None if it is not finished or is to be extended."""
    if not folders.training.is_file():
        return None
    finished = TrainingRecord.read(folders.training)
    # A key that recipes did not have then had its default.
    stored_recipe, given_recipe = build(Recipe, finished.config, "").as_dict(), recipe.as_dict()
    steps = given_recipe["train"].get("max_steps", 0)
    lengthened = {**stored_recipe, "train": {**stored_recipe["train"], "max_steps": steps}}
    longer = steps > finished.steps and lengthened == given_recipe
    code = divergence_code(recipe.method.divergence or "")
    if (stored_recipe == given_recipe or longer) and finished.arguments.get(_CODE, code) != code:
        allowed = f"{finished.arguments[_CODE]}, with which {folders.run_folder} was trained"
        raise argument_error(_CODE, code, allowed)
    if stored_recipe == given_recipe and has_weights(folders.model):
        finished.require_model(model_hash(folders.model, {recipe.model.path: hashes.model}), folders.model)
        return finished
    if stored_recipe == given_recipe or longer:
        if last_checkpoint(folders.checkpoints) is None:
            raise RefusedError(
                f"no checkpoint in {folders.checkpoints}, from which this finished run could be made longer "
                "or its model anew (train.keep_moments=true keeps the last one): remove "
                f"{folders.training}, and run dph train --config ... from the beginning"
            )
        return None
    stored, given = flat(stored_recipe), flat(given_recipe)
    changed = [key for key in sorted({*stored, *given}) if stored.get(key) != given.get(key)]
    other = ", ".join(f"{key} ({stored.get(key)!r} there, {given.get(key)!r} here)" for key in changed)
    allowed = f"a folder of its own: this one holds a training of another {other}"
    raise argument_error("output", str(folders.run_folder), allowed)
