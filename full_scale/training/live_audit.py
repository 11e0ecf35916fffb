"""What the installed trainer does with a given configuration: its own advantages, and its own loss.

A scripted model stands for the policy and the reference: it has the log-probabilities that an audit asks
about. What runs is the trainer's own generate-and-score, on answers it is handed, and its own loss; whatever
a subclass overrides of either runs with them, and nothing of it is re-stated.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.nn.functional import pad
from trl import GRPOConfig, GRPOTrainer, ModelConfig
from trl.scripts.grpo import GRPOScriptArguments

from dph_theory.audit import AuditReport, audit, audit_advantage
from dph_theory.audit.advantage import AdvantageReport
from dph_theory.audit.report import LossReport
from dph_theory.predict.configuration import configuration_of
from dph_theory.support.errors import argument_error

from ..tasks.llama import random_llama, word_level

HERE: Mapping[str, Any] = {
    "use_cpu": True,
    "bf16": False,
    "fp16": False,
    "use_vllm": False,
    "report_to": "none",
    "push_to_hub": False,
    "deepspeed": None,
    "gradient_accumulation_steps": 1,
    "generation_batch_size": None,
    "steps_per_generation": None,
    "activation_checkpointing": False,
    "save_strategy": "no",
    "eval_strategy": "no",
    "disable_tqdm": True,
    "dataloader_pin_memory": False,
    "per_device_eval_batch_size": 4096,
    "temperature": 1.0,
    "reward_weights": None,
}
"""What is set for this machine whatever the configuration says: none of it enters the loss of a batch."""
_WORDS = ("<pad>", "<eos>", "a", "b")


@dataclass(frozen=True, repr=False)
class TrainerReport(LossReport):
    """What one step of a trainer is made of: the advantage's weight, the loss at first, and later.

    `advantage` is that of its generate-and-score; `loss` the audit of its loss on the samples asked for,
    given advantages; `later` the same on samples of an old policy, or of another sampler, None where every
    batch is used once and sampled by the policy itself. `notes` say what else moves the law.
    """

    advantage: AdvantageReport
    loss: AuditReport
    later: AuditReport | None
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """All of it, one part after the other."""
        later = [] if self.later is None else [self.later.verdict]
        return " ".join([self.loss.verdict, *later, f"Advantage: {self.advantage.verdict}", *self.notes])

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings of the loss, and later."""
        later = [] if self.later is None else [(f"later, {k}", words) for k, words in self.later.rows()]
        return (*self.loss.rows(), *later)


def audit_trainer(
    config: GRPOConfig, trainer: type[Any] = GRPOTrainer, *, samples: str = "policy", seed: int = 0
) -> TrainerReport:
    """What a trainer's own step does with this configuration: advantages, loss, and the loss off policy.

    Raises ValueError for a trainer without `compute_loss`, for one whose own sampling or training step stands
    where answers are handed to it, and for settings whose loss needs more than the sampled tokens'
    log-probabilities: an entropy bonus, an entropy quantile, the Liger kernel.
    """
    if not hasattr(trainer, "_get_per_token_logps_and_entropies") or not hasattr(trainer, "compute_loss"):
        raise argument_error("trainer", trainer.__name__, "a GRPOTrainer, or a subclass of one")
    settings = {f.name: getattr(config, f.name) for f in fields(config) if f.init}
    settings["generation_batch_size"] = None  # A configuration has told its steps_per_generation by then.
    with TemporaryDirectory() as folder:
        return audit_settings(settings, Path(folder), trainer, type(config), samples=samples, seed=seed)


def audit_file(
    path: Path, *, samples: str = "policy", seed: int = 0
) -> tuple[TrainerReport, tuple[str, ...]]:
    """The same of a YAML file of GRPOConfig's settings, and the names in it that TRL's scripts read besides.

    Raises ValueError for a file that holds no settings, or a name that none of TRL's arguments has.
    """
    settings, others = _settings_of(path)
    with TemporaryDirectory() as folder:
        report = audit_settings(settings, Path(folder), GRPOTrainer, GRPOConfig, samples=samples, seed=seed)
    return report, others


def _settings_of(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings of GRPOConfig in a YAML file, and the other names that TRL's scripts know."""
    import yaml  # Comes with transformers.

    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(given, dict):
        raise argument_error("config", str(path), "a YAML file of settings of GRPOConfig")
    if own := sorted(VERL & set(given)):
        allowed = f"settings of TRL's GRPOConfig: {', '.join(own)} are verl's"
        raise argument_error("config", str(path), allowed)
    known = {f.name for f in fields(GRPOConfig) if f.init}
    besides = {f.name for of in (GRPOScriptArguments, ModelConfig) for f in fields(of)} | {"datasets"}
    for name in set(given) - known - besides:
        near = difflib.get_close_matches(str(name), known, 1)
        raise argument_error(
            "setting", name, f"one of GRPOConfig's{f'; the nearest is {near[0]}' if near else ''}"
        )
    settings = {name: value for name, value in given.items() if name in known}
    return settings, tuple(sorted(set(given) - known))


VERL = {"actor_rollout_ref", "algorithm", "critic", "custom_reward_function"}
"""What a configuration of verl holds at its top."""


def audit_settings(
    settings: Mapping[str, Any],
    folder: Path,
    trainer: type[GRPOTrainer],
    config: type[GRPOConfig],
    *,
    samples: str = "policy",
    seed: int = 0,
) -> TrainerReport:
    """The audit of these settings; the trainer's files go to the folder."""
    _refuse(settings, trainer)
    built = _build(settings, folder, trainer, config)
    vllm = bool(settings.get("use_vllm"))
    loss = trainer_loss(built, vllm=vllm)
    name = f"{trainer.__name__} ({built.loss_type})"
    told = configuration_of(settings, "trl")
    updates = told.updates or 1.0
    later = samples == "policy" and (vllm or updates > 1)
    return TrainerReport(
        advantage=audit_advantage(
            trainer_advantage(built), group_size=built.num_generations, name=trainer.__name__
        ),
        loss=audit(loss, samples=samples, name=name, seed=seed),
        later=audit(loss, samples="old_policy", name=name, seed=seed) if later else None,
        notes=_notes(built, vllm, updates, (*told.moved_by, *told.not_read)),
    )


IN_THE_LOSS = (
    "delta",
    "epsilon",
    "epsilon_high",
    "off_policy_mask_threshold",
    "loss_type",
    "vllm_importance_sampling",
)
"""What `dph predict` does not read, or says to move the law, and the loss that runs here holds."""


def _notes(built: GRPOTrainer, vllm: bool, updates: float, aside: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if besides := [each for each in aside if not each.startswith(IN_THE_LOSS)]:
        notes.append(f"Not run here, may change what the run selects: {', '.join(besides)}.")
    if updates > 1:
        notes.append(
            f"A batch is used for {updates:g} updates (on one process): old policy samples are those of "
            "the later ones."
        )
    if vllm:
        how = f"corrected by {built.vllm_importance_sampling_mode}"
        corrected = how if built.vllm_importance_sampling_correction else "not corrected"
        notes.append(
            f"vLLM samples: where it differs from the policy, old policy samples are its, {corrected}."
        )
    if built.args.sync_ref_model:
        notes.append(
            f"The reference follows the policy every {built.args.ref_model_sync_steps} steps "
            "(sync_ref_model): no law of a fixed base holds."
        )
    return tuple(notes)


RUN_HERE = ("_generate_and_score_completions", "compute_loss")
NOT_RUN = ("_generate", "_generate_single_turn", "_prepare_inputs", "training_step", "_calculate_rewards")
"""Parts of a step that an audit replaces, or passes by."""


def _refuse(settings: Mapping[str, Any], trainer: type[GRPOTrainer]) -> None:
    needs = "what the sampled tokens' log-probabilities decide"
    for name, plain in (("entropy_coef", 0.0), ("top_entropy_quantile", 1.0)):
        value = settings.get(name, plain)
        if value not in (plain, None):
            raise argument_error(name, value, f"{plain}: only {needs} can be audited")
    for name in ("use_liger_kernel", "use_adaptive_entropy"):
        if settings.get(name):
            raise argument_error(name, True, f"False: only {needs} can be audited")
    if (beta := settings.get("beta")) is not None and not (isinstance(beta, (int, float)) and beta >= 0):
        raise argument_error("beta", beta, "a number, at least 0")
    for name in NOT_RUN:
        if getattr(trainer, name) is not getattr(GRPOTrainer, name):
            allowed = f"a subclass with its own {' and '.join(RUN_HERE)}, which run here; {name} does not"
            raise argument_error("trainer", f"{trainer.__name__}.{name}", allowed)


class _Scripted(torch.nn.Module):
    """A model that gives the tokens it is shown the log-probabilities that are written down for them."""

    is_gradient_checkpointing = False

    def __init__(self) -> None:
        super().__init__()
        self.log_probs = torch.zeros(0, 0)

    def forward(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:
        """The log-probabilities of all but the first token, and for releases before 1.12 the logits."""
        found = self.log_probs[: len(input_ids), : input_ids.shape[1] - 1]
        # The token after the one shown has the rest of the probability.
        rest = torch.log(-torch.expm1(found.clamp(max=-1e-12)))
        never = found.new_full((*found.shape, len(_WORDS)), -1e9)
        shown = input_ids[:, 1:, None]
        logits = never.scatter(-1, (shown + 1) % len(_WORDS), rest[..., None])
        logits = pad(logits.scatter(-1, shown, found[..., None]), (0, 0, 0, 1))
        zero = torch.zeros_like(found)
        return SimpleNamespace(log_probs=found, logits=logits, entropy=zero, aux_loss=None)


@dataclass
class _Script:
    """A trainer whose answers, rewards and models are written down; `score` is its own generate-and-score."""

    trainer: Any
    vllm: bool

    def __post_init__(self) -> None:
        self.policy, self.reference = _Scripted(), _Scripted()
        self.policy.eval()

    def score(self, mask: Tensor, sampler: Tensor, rewards: Sequence[float], group_size: int) -> Any:
        """The inputs of the loss for answers of ones under this mask, which may have holes."""
        trainer, rows = self.trainer, len(mask)
        lengths = [int(row.nonzero()[-1]) + 1 if row.any() else 1 for row in mask]
        ids = [[2] * length for length in lengths]
        logs = [row[:length].tolist() for row, length in zip(sampler, lengths, strict=True)]
        holes = any(not bool(row[:n].all()) for row, n in zip(mask, lengths, strict=True))
        tools = [row[:n].long().tolist() for row, n in zip(mask, lengths, strict=True)] if holes else None
        trainer.model, trainer.ref_model = self.policy, self.reference if trainer.beta else None
        trainer.reward_funcs, trainer.reward_func_names = (
            [lambda completions, **_: list(rewards)],
            ["verdict"],
        )
        trainer.reward_weights, trainer.use_vllm = torch.ones(1), self.vllm
        trainer.num_generations_eval = group_size
        answer: tuple[Any, ...] = (
            [[2]] * rows,
            ids,
            tools,
            ["a"] * rows,
            logs if self.vllm else None,
            {},
            None,
            [],
        )
        trainer._generate = lambda prompts: answer
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # Lists of a sampler's log-probabilities are made tensors.
        try:
            found = trainer._generate_and_score_completions([{"prompt": "a"} for _ in range(rows)])
        finally:
            torch.set_default_dtype(usual)
        trainer._metrics["eval"].clear()
        for kept in trainer._logs.values():
            for values in kept.values() if isinstance(kept, dict) else (kept,):
                values.clear()
        return found


def loss_of_file(path: Path | str) -> Callable[..., Tensor]:
    """The loss of the installed TRL's own step with the settings of a YAML file, to be checked or audited.

    Raises ValueError as `audit_file` does.
    """
    settings, _ = _settings_of(Path(path))
    _refuse(settings, GRPOTrainer)
    with TemporaryDirectory() as folder:
        built = _build(settings, Path(folder), GRPOTrainer, GRPOConfig)
    return trainer_loss(built, vllm=bool(settings.get("use_vllm")))


def trainer_loss(trainer: GRPOTrainer, *, vllm: bool = False) -> Callable[..., Tensor]:
    """The trainer's own step as a loss of log-probabilities, in evaluation: no steps accumulate.

    All rewards are equal when it scores, so that its own advantages hold nothing but what it adds to a
    verdict's; those given are added to them. With vllm, `log_old` is the sampler's.
    """
    script = _Script(trainer, vllm)

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        rows, width = mask.shape
        script.policy.log_probs = log_pi.detach() if vllm else log_old
        script.reference.log_probs = log_ref
        inputs = script.score(mask, log_old, [0.0] * rows, rows)
        inputs = {name: _widened(name, value, width) for name, value in inputs.items()}
        own = inputs["advantages"].to(advantages.dtype)
        inputs["advantages"] = advantages[:, 0] + own if own.dim() == 1 else advantages + own
        if not torch.equal(log_old, log_pi):  # Else the trainer's own rule: the policy itself.
            inputs.setdefault("old_per_token_logps", log_old)
        script.policy.log_probs = log_pi
        found: Tensor = trainer.compute_loss(script.policy, inputs)
        trainer._metrics["eval"].clear()
        return found

    return loss


def _widened(name: str, value: Any, width: int) -> Any:
    """A batch's tensor with as many tokens as the audit's, as beside a longer answer."""
    if not isinstance(value, Tensor) or value.dim() != 2 or name.startswith("prompt"):
        return value
    ratio = name == "importance_sampling_ratio"
    if ratio and value.shape[1] == 1:
        return value  # Of the whole answer.
    return pad(value, (0, width - value.shape[1]), value=float(ratio or name == "tool_mask"))


def trainer_advantage(trainer: GRPOTrainer) -> Callable[[Tensor], Tensor]:
    """The trainer's own advantages of rewards (groups, G), for answers of one token."""
    script = _Script(trainer, vllm=False)

    def advantage(rewards: Tensor) -> Tensor:
        groups, size = rewards.shape
        mask = torch.ones(groups * size, 1, dtype=torch.float64)
        script.policy.log_probs = script.reference.log_probs = -mask
        found = script.score(mask, -mask, rewards.flatten().tolist(), size)["advantages"]
        advantages: Tensor = found.reshape(groups, size, -1)[..., 0].double()
        return advantages

    return advantage


def _build(
    settings: Mapping[str, Any], folder: Path, trainer: type[GRPOTrainer], config: type[GRPOConfig]
) -> GRPOTrainer:
    sizes = {"vocabulary": len(_WORDS), "hidden": 8, "layers": 2, "heads": 2, "intermediate_size": 16}
    random_llama(0, **sizes, end=1, pad_token_id=0).save_pretrained(folder / "model")
    size = int(settings.get("num_generations") or 8)
    here = {**HERE, "output_dir": str(folder), "per_device_train_batch_size": size, "num_generations": size}
    kept = {name: here.get(name, value) for name, value in settings.items()}
    return trainer(
        model=str(folder / "model"),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=config(**{**here, **kept}),
        train_dataset=Dataset.from_list([{"prompt": "a"}] * size),
        processing_class=word_level(_WORDS, "<pad>", pad_token="<pad>", eos_token="<eos>"),
    )
