"""Commands of the training pipeline, from `dph count` to `dph experiment`. Interrupted commands resume."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from dph_theory.support import terminal
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import STANDARD_OUTPUT, write_json
from dph_theory.support.table import Table

if TYPE_CHECKING:
    from .recipe.schema import Recipe
    from .training.dry_run import DryRun

NOT_YET, WRONG, TERMINATED = 1, 2, 143
_RUN = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT, _FOLDER, _RUNS = terminal.OutputFile(), terminal.OutputFolder(), Path("runs/experiments")
_config = click.option("--config", required=True, metavar="R.yaml", help="Recipe: a file or a packaged name.")
_overrides = click.argument("overrides", nargs=-1, metavar="[KEY=VALUE ...]")


@click.command(name="count", short_help="Sample a model's answers, count the correct ones.")
@click.argument("model")
@click.argument("prompts")
@click.option(
    "--verifier",
    required=True,
    help="Verifier: math, sql, exact, regex, or MODULE:FUNCTION or FILE.py:FUNCTION: a reward function as "
    "TRL calls it, or a function of (answer, row) that returns true or false.",
)
@click.option("--to", "path", required=True, type=_OUTPUT, help="File of the counts, JSON lines.")
@click.option("--n", type=int, default=64, show_default=True, help="Number of answers to each prompt.")
@click.option("--server", metavar="URL", help="Address at which vLLM, SGLang or llama.cpp serves MODEL.")
@click.option("--prompt", metavar="COLUMN", help="Column of the prompts. [default: prompt]")
@click.option("--answer", metavar="COLUMN", help="Column of the reference answers. [default: answer]")
@click.option("--id", "column", metavar="COLUMN", help="Column of ids. [default: id, or the prompt]")
@click.option("--split", default="train", show_default=True, help="Split of a data set.")
@click.option("--subset", help="Configuration of a data set.")
@click.option("--limit", type=click.IntRange(min=1), help="Largest number of prompts.")
@click.option("--chat/--no-chat", default=None, help="Use the chat template. [default: if there is one]")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=1024, show_default=True, help="Tokens of an answer."
)
@click.option("--correct-from", type=float, help="Smallest reward of a correct answer. [default: 1]")
@click.option("--keep", type=click.Choice(["answers"]), help="Store the answers with their rewards.")
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=64, show_default=True, help="Answers per batch."
)
@terminal.seed
def count_command(path: Path, keep: str | None, **options: Any) -> None:
    """Sample MODEL's answers to PROMPTS, judge them, and count the correct answers to each prompt.

    MODEL is a folder, a Hub name, a GGUF file, an adapter's folder, smollm2, or a server's model name.
    PROMPTS is a .jsonl, .csv or .parquet file, or the name of a data set. Answers are sampled as an
    evaluation requires: at temperature 1, without truncation.
    """
    with _stage(f"finished batches of prompts are stored in {path}.parts") as (console, progress):
        from .tasks.loaders import Options, verifier_name, verifier_of

        _require_inputs(model="" if options["server"] else options["model"], data=options["prompts"])
        verifier_of(Options(), {verifier_name(options["verifier"])}).close()
        from .stages import CountSettings, count_stage

        settings = CountSettings(keep=keep is not None, **options)
        counted = count_stage(settings, path, progress, partial(_say, console))
        _say(console, counted.sentences)
        _say(console, [f"Next: dph predict trl beta=0.04 --counts {path}  # or your train.py"])


@click.command(name="presample", short_help="Roll out the model; split its prompts; store correct answers.")
@_config
@_overrides
def presample_command(config: str, overrides: Sequence[str]) -> None:
    """Sample the initial model on every training prompt and split the prompts into D_pef and D_exp."""
    with _stage("finished batches of prompts are stored") as (console, progress):
        recipe = _recipe(config, overrides)
        _require_task(config, overrides)
        from .stages import presample_stage

        _say(console, presample_stage(recipe, progress, partial(_say, console)).findings)


class _WithKeys(click.Command):
    """A command whose help ends with the keys of a recipe."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from .recipe.schema import recipe_keys

        with formatter.section("Keys of a recipe, KEY=VALUE, with types and defaults"):
            formatter.write_dl(
                [(key, f"{meaning} ({kind}; {default})") for key, kind, default, meaning in recipe_keys()]
            )
        formatter.write_paragraph()
        formatter.write_text("train.* takes any field of TRL's GRPOConfig.")
        super().format_epilog(ctx, formatter)


@click.command(
    name="train", cls=_WithKeys, short_help="Train by a recipe, from the last checkpoint if there is one."
)
@_config
@click.option("--dry-run", is_flag=True, help="Print the resolved settings, memory needs and missing files.")
@click.option("--world-size", type=click.IntRange(min=1), help="Number of processes of the dry run.")
@click.option("--sharded", is_flag=True, help="Count the dry run's memory for FSDP or ZeRO 3.")
@click.option("--launch", type=_FILE, help="Configuration file of accelerate launch, for the dry run.")
@click.option(
    "--device-memory",
    type=click.FloatRange(min=0, min_open=True),
    help="GiB of a device: exit with code 1 if the training does not fit into it.",
)
@click.option(
    "--tflops",
    type=click.FloatRange(min=0, min_open=True),
    default=100.0,
    show_default=True,
    help="Operations that a device sustains, in 10^12 per second, for the dry run's hours.",
)
@click.option(
    "--price", type=click.FloatRange(min=0), help="Price of a device's hour, for the dry run's cost."
)
@_overrides
def train_command(
    config: str,
    dry_run: bool,
    world_size: int | None,
    sharded: bool,
    launch: Path | None,
    device_memory: float | None,
    tflops: float,
    price: float | None,
    overrides: Sequence[str],
) -> None:
    """Train a model on D_exp, with the rehearsal of D_pef where the method has one."""
    with _stage("the last checkpoint is stored") as (console, progress):
        recipe = _recipe(config, overrides, *(() if dry_run else ("presample",)))
        if dry_run:
            from .training.dry_run import GIB
            from .training.dry_run import dry_run as dry_run_of
            from .training.launch import Launch

            start = Launch.read(launch) if launch is not None else Launch.of_process()
            start = replace(
                start, world_size=world_size or start.world_size, sharded=sharded or start.sharded
            )
            estimate = dry_run_of(recipe, start, device=(device_memory or 0) * GIB)
            _print_dry_run(console, estimate)
            _say(console, _time_needed(estimate.petaflop, start.world_size, tflops, price))
            if estimate.too_large or estimate.missing:
                sys.exit(NOT_YET)
            return
        from .stages import train_stage

        _say(console, train_stage(recipe, progress, partial(_say, console)).findings)


@click.command(name="evaluate", short_help="Greedy, Pass@k, styles, retention: of a run and its base.")
@_config
@click.option("--base", is_flag=True, help="Evaluate the initial model alone, the base of every run.")
@_overrides
def evaluate_command(config: str, base: bool, overrides: Sequence[str]) -> None:
    """Evaluate the trained model, and first the initial one if that has not been done."""
    with _stage("finished sets and batches are stored") as (console, progress):
        recipe = _recipe(config, overrides, "presample", *(() if base else ("train",)))
        from .stages import evaluate_stage

        say = partial(_say, console)
        _say(console, evaluate_stage(recipe, progress, say, base_only=base).findings)


@click.command(name="transfer", short_help="Measure what training on some prompts will do to others.")
@click.argument("words", nargs=-1, metavar="MODEL PROMPTS [HELD_OUT ...] | --config R.yaml [KEY=VALUE ...]")
@click.option("--to", "path", required=True, type=terminal.OutputFile(), help="File of the kernel, .npz.")
@click.option("--config", metavar="R.yaml", help="Recipe of prompts, verifier and model.")
@click.option("--verifier", metavar="MODULE:FUNCTION", help="Judge of sampled answers to the files' prompts.")
@click.option(
    "--samples", type=click.IntRange(min=2), default=32, show_default=True, help="Answers to judge."
)
@click.option(
    "--own",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Answers per prompt with their own gradients: likely incorrect ones, frequent samples.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Largest number of prompts of each file or set.")
@click.option(
    "--metric",
    type=click.Choice(("euclidean", "adam")),
    default="euclidean",
    show_default=True,
    help="Inner product of gradients: plain, or weighted as in small steps of Adam.",
)
def transfer_command(words: tuple[str, ...], path: Path, **options: Any) -> None:
    """Take the gradient of each answer's log-probability once, at the base, to measure how prompts interact.

    PROMPTS are trained on, HELD_OUT are not. Both are files of rows {"prompt", "answers": [...]} that list
    the correct answers, or of rows {"prompt", ...} whose answers are sampled and judged.
    """
    with _stage(f"finished measurements are stored in {path}.parts", path) as (console, progress):
        if options["config"] is None:
            if len(words) < 2:
                raise argument_error("arguments", list(words), "MODEL PROMPTS, or --config R.yaml")
            for word in words:
                _require_inputs(argument=word)
        else:
            _require_task(options["config"], words)
        from dph_theory.transfer.report import kernel_summary

        from .stages import transfer_stage

        kernel = transfer_stage(words, path, progress=progress, say=partial(_say, console), **options)
        _say(console, kernel_summary(kernel, path))


@click.command(name="validate", short_help="Compare trained runs with the theory.")
@click.argument("runs", nargs=-1, required=True, type=_RUN, metavar="RUN ...")
@click.option("--json", "json_path", type=_OUTPUT, help="Output file of the record.")
def validate_command(runs: Sequence[Path], json_path: Path | None) -> None:
    """Check the records of runs, and compare their measurements with the theory's predictions."""
    with _stage("nothing was written", json_path, checked=False) as (console, _):
        from .validation.table import validate

        validation = validate(runs)
        if json_path is not None:
            write_json(json_path, validation.as_record())
        _print_tables(console, validation.tables())
        _say(console, validation.sentences())


@click.command(name="demo", short_help="The whole pipeline on the built-in task, on this machine.")
@click.option("--quick", is_flag=True, help="Run a toy length that exercises every stage.")
@click.option(
    "--folder",
    type=_FOLDER,
    help="Folder of the runs, to start or to resume. [default: runs/tiny-sql or runs/tiny-sql-quick]",
)
@click.option("--seeds", type=click.IntRange(min=1), help="Number of seeds.")
@click.option("--workers", type=click.IntRange(min=1), help="Parallel runs. [default: one per core]")
def demo_command(quick: bool, folder: Path | None, seeds: int | None, workers: int | None) -> None:
    """Run the built-in task from building its model to comparing the methods, and print two tables."""
    folder = folder or Path("runs/tiny-sql-quick" if quick else "runs/tiny-sql")
    with _stage(f"finished stages are stored in {folder}") as (console, progress):
        import torch

        from .demo import demo, tables

        # A model this small gains nothing from a second thread, which slows a busy machine down.
        torch.set_num_threads(1)
        result = demo(folder, quick=quick, seeds=seeds, workers=workers, progress=progress)
        _print_tables(console, tables(result))
        _say(
            console, [*(f"- {sentence}" for sentence in result["findings"]), f"stored in {folder}/demo.json"]
        )


@click.command(name="methods", short_help="Train several methods by one recipe, and compare their Pass@k.")
@_config
@click.option("--methods", "names", metavar="A,B", help="Names of methods, comma-separated.  [default: five]")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Number of seeds.")
@_overrides
def methods_command(config: str, names: str | None, seeds: int, overrides: Sequence[str]) -> None:
    """Pre-sample, train and evaluate GRPO, Dr. GRPO, MaxRL, DPH-F and DPH-MaxRL, one after the other."""
    with _stage("finished stages are stored") as (console, progress):
        _require_task(config, overrides)
        from .methods import COMPARED, compare_methods, pass_tables

        methods = tuple(name.strip() for name in names.split(",")) if names else COMPARED
        stored = compare_methods(config, overrides, methods=methods, seeds=seeds, progress=progress)
        _print_tables(console, pass_tables(stored["results"]))
        _say(console, [f"Stored in {Path(stored['config']['output']) / 'methods.json'}."])


def _study_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all experiments take."""
    at_least_one = click.IntRange(min=1)
    options = (
        click.option("--only", metavar="NAME", help="Name of one experiment."),
        click.option("--list", "listed", is_flag=True, help="List finished runs and results; run none."),
        click.option("--workers", type=at_least_one, default=2, show_default=True, help="Parallel runs."),
        click.option("--seeds", type=at_least_one, help="Number of seeds."),
        click.option("--folder", type=_FOLDER, default=_RUNS, help="Folder of the runs, to resume from."),
        click.option("--json", "json_path", type=_OUTPUT, help="Output file of the finished runs, compact."),
        click.option("--pack", type=_OUTPUT, help="Output file of all measurements."),
        click.option("--from", "packed", type=_FILE, help="File of runs, stored by --pack, to resume from."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _run_study(name: str, **options: Any) -> None:
    note = f"finished runs are stored in {options['folder']}"
    with _stage(note, options["json_path"], checked=not options["listed"]) as (console, progress):
        from .experiments.runner import StudyOptions, run_study, study_named

        report = run_study(study_named(name), StudyOptions(**options), progress)
        _print_tables(console, report.tables)
        _say(console, report.sentences)


@click.command(name="small-llama", short_help="Test stationary policies on a small Llama under TRL.")
@click.option("--quick", is_flag=True, help="Three forms of the penalty, and a drift without one.")
@_study_options
@click.option(
    "--expected-gradient", is_flag=True, help="Explain misses of finished runs too: too few steps, or noise."
)
def small_llama_command(**options: Any) -> None:
    """Predict the policy each run converges to, train the run, and compare. Finished runs are stored."""
    _run_study("small-llama", **options)


@click.command(name="pretrained", short_help="Test stationary policies and Pass@k on a pretrained Llama.")
@click.option("--model", default="smollm2", show_default=True, help="Model: smollm2, a folder, a Hub name.")
@click.option("--quick", is_flag=True, help="Two KL penalties, and GRPO with and without a KL, a few steps.")
@_study_options
def pretrained_command(**options: Any) -> None:
    """Predict each run's effect on open prompts, whose answers are all enumerated, then train and compare."""
    _run_study("pretrained", **options)


@click.command(name="sql", short_help="Compare what an advantage is divided by on the SQL task under TRL.")
@click.option("--quick", is_flag=True, help="GRPO, and DPH-F divided by the mean, for ten steps.")
@_study_options
def sql_command(**options: Any) -> None:
    """Train each method on the SQL task for 640 steps, and judge predictions that were written beforehand."""
    _run_study("sql", **options)


def list_experiments() -> None:
    """List all declared experiments and the number of their finished runs in the default folder."""
    with _stage("nothing was written", checked=False) as (console, _):
        from .experiments.runner import list_studies

        _print_tables(console, [list_studies(_RUNS)])
        _say(console, ["Next: dph experiment small-llama --only which_policy --seeds 1"])


def _recipe(config: str, overrides: Sequence[str], *needs: str) -> "Recipe":
    """Load a recipe; refuse before heavy packages load if it is wrong, or if a needed stage is unfinished."""
    from .recipe.folders import Folders
    from .recipe.methods import require_settings
    from .recipe.schema import load_recipe

    recipe = load_recipe(config, overrides)
    if not recipe.name:
        raise click.UsageError(f"{config} has no name, which names the folder of the run: add name=NAME")
    require_settings(recipe)
    Folders.of_recipe(recipe).require(*needs)
    return recipe


def _require_inputs(**places: str) -> None:
    """Refuse a model or a file that is missing before heavy packages load."""
    from .storage.places import require_here

    for argument, place in places.items():
        require_here(argument, place, "a file, a folder, or a name on the Hub")


def _require_task(config: str, overrides: Sequence[str]) -> None:
    """Refuse a recipe whose model, data or verifier is missing before heavy packages load."""
    from .recipe.schema import load_recipe
    from .tasks.loaders import load_task

    recipe = load_recipe(config, overrides)
    _require_inputs(**{"model.path": recipe.model.path})
    load_task(recipe.task).close()


@contextmanager
def _stage(
    resume_note: str, written: Path | None = None, *, checked: bool = True
) -> Iterator[tuple[Console, Any]]:
    """Yield a console and a progress callback, and turn this package's errors into messages.

    Only the first process prints. The console is standard error if `written` is standard output.
    """
    first = os.environ.get("RANK", "0") == "0"
    before = signal.signal(signal.SIGTERM, _terminated)
    console, errors = (
        terminal.console(stderr=stderr, quiet=not first) for stderr in (written == STANDARD_OUTPUT, True)
    )
    with terminal.Bars(on=errors, hidden=not errors.is_terminal or not first) as bars:
        try:
            if checked:
                from .models.versions import check_versions

                check_versions()
            yield console, bars if errors.is_terminal else terminal.lines(errors)
        except KeyboardInterrupt as stop:
            ended = isinstance(stop, _TerminatedError)
            word = "ended by SIGTERM" if ended else "interrupted"
            _say(errors, [f"{word}: {resume_note}; the same command goes on from there"])
            sys.exit(TERMINATED if ended else terminal.INTERRUPTED)
        except BrokenPipeError:
            raise
        except (ValueError, RefusedError, OSError) as error:
            _say(errors, [f"error: {error}"])
            sys.exit(WRONG)
        finally:
            signal.signal(signal.SIGTERM, before)


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM arrived, which a scheduler sends before it kills the process."""


def _terminated(*_: Any) -> None:
    raise _TerminatedError


def _say(console: Console, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        terminal.say(console, sentence)


def _print_tables(console: Console, tables: Sequence[Table]) -> None:
    for table in tables:
        if table.rows:
            console.print(table.rich())


def _time_needed(petaflop: float | None, devices: int, tflops: float, price: float | None) -> list[str]:
    """Sentences on the device-hours and cost of that many petaflop at `tflops` per device."""
    if petaflop is None:
        return ["hours: not known without the model's configuration and the number of prompts"]
    hours = petaflop / (tflops / 1e3) / 3600
    cost = "" if price is None else f", cost about {hours * price:,.2f} at {price:g} per device-hour"
    return [
        f"about {hours:.3g} device-hours at {tflops:g} TFLOP/s, {hours / devices:.3g} hours on {devices} "
        f"device{'s' if devices > 1 else ''}{cost}, if every answer takes all its tokens. Sampling rarely "
        "reaches that speed: --tflops takes what you measure."
    ]


def _print_dry_run(console: Console, estimate: "DryRun") -> None:
    import yaml

    for title, values in (("recipe", estimate.recipe), ("trainer", estimate.arguments)):
        _say(console, [f"{title}:", yaml.safe_dump(dict(values), sort_keys=False)])
    from .recipe.objective import objective_of

    objective = objective_of(estimate.arguments)
    # A penalty without a coefficient needs the base rates first.
    if estimate.arguments.get("beta") is not None and objective.divergence is not None:
        _say(console, [f"the KL penalty converges to: {objective}"])
    steps = estimate.steps
    counts = {
        "prompts to train on": steps.prompts,
        "rollouts per step": steps.rollouts_per_step,
        "prompts per generated batch": steps.prompts_per_generation,
        "optimizer steps per generated batch": steps.steps_per_generation,
        "rehearsal rows per step": steps.rehearsal_rows,
        "optimizer steps": steps.steps,
        "rollouts": steps.rollouts,
    }
    counted = [(name, "unknown" if count is None else f"{count:,}") for name, count in counts.items()]
    _print_tables(console, [Table.from_rows(("steps", ""), counted)])
    if estimate.memory and estimate.shape is not None:
        rows = [(part, f"{size / 2**30:.3f}") for part, size in estimate.memory.items()]
        longest = estimate.prompt_tokens
        prompt = f"prompts up to {longest:,} tokens" if longest else "prompts half a completion long"
        title = f"GiB per device, {estimate.shape.parameters:,} parameters, {prompt}, an estimate"
        _print_tables(console, [Table.from_rows((title, "train"), rows)])
    else:
        _say(console, ["memory: not known without the model's configuration"])
    _say(console, [*filter(None, [estimate.too_large]), *estimate.warnings])
    _say(console, [f"missing: {entry}" for entry in estimate.missing] or ["nothing is missing"])
