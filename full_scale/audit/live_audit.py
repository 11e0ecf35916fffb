"""Audit of the installed trainer's advantages and loss under a given configuration.

A scripted model replaces the policy and the reference, and returns the log-probabilities that an audit
requires. The trainer's own generate-and-score runs on given answers, followed by its own loss. Overrides in a
subclass run too; nothing is reimplemented.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, get_type_hints

import torch
import yaml
from datasets import Dataset
from torch import Tensor
from torch.nn.functional import pad
from trl import GRPOConfig, GRPOTrainer, ModelConfig
from trl.scripts.grpo import GRPOScriptArguments

from dph_theory.audit import AuditReport, audit, audit_advantage
from dph_theory.audit.advantage import AdvantageReport
from dph_theory.audit.report import LossReport
from dph_theory.support.checking import typed_arguments
from dph_theory.support.errors import argument_error

from ..recipe.objective import UNREAD, objective_of
from ..recipe.settings import SETTINGS
from ..tasks.llama import random_llama, word_level

LOCAL_SETTINGS: Mapping[str, Any] = {
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
"""Settings replaced in order to run on this machine; none of them enters the loss of a batch."""
_WORDS = ("<pad>", "<eos>", "a", "b")


@dataclass(frozen=True, repr=False)
class TrainerReport(LossReport):
    """Audit of one step of a trainer: the advantage's weight, the loss, and the loss in later updates.

    `advantage` audits the trainer's generate-and-score. `loss` audits its loss on the given samples and
    advantages. `later` does so on samples of an old policy or another sampler, or is None if each batch is
    used once and sampled by the policy. `notes` list other settings that change the stationary policy.
    """

    advantage: AdvantageReport
    loss: AuditReport
    later: AuditReport | None
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """Sentences on the loss, on later updates of a batch, and on the advantage."""
        later = [] if self.later is None else [self.later.verdict]
        return " ".join([self.loss.verdict, *later, f"Advantage: {self.advantage.verdict}", *self.notes])

    def rows(self) -> Sequence[tuple[str, str]]:
        """Findings as (name, words) of the loss in the first and in later updates of a batch."""
        later = [] if self.later is None else [(f"later, {k}", words) for k, words in self.later.rows()]
        return (*self.loss.rows(), *later)


def audit_trainer(
    config: GRPOConfig, trainer: type[Any] = GRPOTrainer, *, samples: str = "policy", seed: int = 0
) -> TrainerReport:
    """Audit a trainer's own step under this configuration: advantages, loss, and off-policy loss.

    Raises ValueError for a class that is no GRPOTrainer, for a subclass that overrides sampling or the
    training step, which the audit replaces, and for settings whose loss needs more than the log-probabilities
    of sampled tokens: an entropy bonus, an entropy quantile, the Liger kernel.
    """
    if not issubclass(trainer, GRPOTrainer):
        raise argument_error("trainer", trainer.__name__, "a GRPOTrainer, or a subclass of one")
    settings = {f.name: getattr(config, f.name) for f in fields(config) if f.init}
    settings["generation_batch_size"] = None  # steps_per_generation is set in the configuration by now.
    return audit_settings(settings, trainer, type(config), samples=samples, seed=seed)


def audit_file(
    path: Path, *, samples: str = "policy", seed: int = 0
) -> tuple[TrainerReport, tuple[str, ...]]:
    """Audit the GRPOConfig settings in a YAML file; also return the names that only TRL's scripts read.

    Raises ValueError for a file without settings, or for a name that is no argument of TRL.
    """
    settings, ignored = _settings_of(path)
    return audit_settings(settings, samples=samples, seed=seed), ignored


def loss_of_file(path: Path | str) -> Callable[..., Tensor]:
    """Build the loss of the installed TRL's own step from the settings in a YAML file, for checks and audits.

    Raises ValueError as `audit_file` does.
    """
    settings, _ = _settings_of(Path(path))
    return trainer_loss(build_trainer(settings), vllm=bool(settings.get("use_vllm")))


def _settings_of(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read the GRPOConfig settings in a YAML file, and the other names that TRL's scripts know."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise argument_error("config", str(path), "a YAML file of settings of GRPOConfig")
    script_fields = (*fields(GRPOScriptArguments), *fields(ModelConfig))
    script_names = {field.name for field in script_fields} | {"datasets"}
    settings = {name: value for name, value in document.items() if name not in script_names}
    typed_arguments(
        dict.fromkeys(get_type_hints(GRPOConfig), Any), settings, "setting ", owner="TRL's GRPOConfig"
    )
    return settings, tuple(sorted(document.keys() & script_names))


def audit_settings(
    settings: Mapping[str, Any],
    trainer: type[GRPOTrainer] = GRPOTrainer,
    config: type[GRPOConfig] = GRPOConfig,
    *,
    samples: str = "policy",
    seed: int = 0,
) -> TrainerReport:
    """Audit a trainer with these settings; errors as in `audit_trainer`."""
    built_trainer, vllm = build_trainer(settings, trainer, config), bool(settings.get("use_vllm"))
    loss, name = trainer_loss(built_trainer, vllm=vllm), f"{trainer.__name__} ({built_trainer.loss_type})"
    advantage, updates = trainer_advantage(built_trainer), objective_of(settings).updates or 1.0
    later = samples == "policy" and (vllm or updates > 1)
    return TrainerReport(
        advantage=audit_advantage(
            advantage, group_size=built_trainer.num_generations, name=trainer.__name__, draws=2
        ),
        loss=audit(loss, samples=samples, name=name, seed=seed),
        later=audit(loss, samples="old_policy", name=name, seed=seed) if later else None,
        notes=_notes(built_trainer, settings, updates),
    )


NOT_RUN_HERE = (
    *("temperature", "top_p", "top_k", "min_p", "mask_truncated_completions", "reward_weights"),
    *(name for name in UNREAD if name not in ("delta", "off_policy_mask_threshold")),
)
"""TRL settings that may change the stationary policy but do not enter the audited loss."""


def _notes(trainer: GRPOTrainer, settings: Mapping[str, Any], updates: float) -> tuple[str, ...]:
    given, vllm = {name: settings.get(name) for name in NOT_RUN_HERE}, bool(settings.get("use_vllm"))
    unread = [f"{name}={value}" for name, value in given.items() if value not in (None, SETTINGS[name])]
    notes = [f"Not audited, but may change the stationary policy: {', '.join(unread)}."] if unread else []
    if updates > 1:
        batch = f"A batch is used for {updates:g} updates (on one process)"
        notes.append(f"{batch}: later updates use samples of an old policy.")
    if vllm:
        corrected = trainer.vllm_importance_sampling_correction
        words = f"corrected by {trainer.vllm_importance_sampling_mode}" if corrected else "not corrected"
        notes.append(f"vLLM samples the answers: off-policy if it differs from the policy, {words}.")
    if trainer.args.sync_ref_model:
        steps = f"every {trainer.args.ref_model_sync_steps} steps (sync_ref_model)"
        notes.append(f"The reference follows the policy {steps}: results for a fixed base do not apply.")
    return tuple(notes)


RUN_HERE = ("_generate_and_score_completions", "compute_loss")
NOT_RUN = ("_generate", "_generate_single_turn", "_prepare_inputs", "training_step", "_calculate_rewards")
"""Parts of a step that an audit replaces or skips."""


PLAIN = {
    "entropy_coef": 0.0,
    "top_entropy_quantile": 1.0,
    "use_liger_kernel": False,
    "use_adaptive_entropy": False,
}
"""Settings for which only this value can be audited."""


def _refuse(settings: Mapping[str, Any], trainer: type[GRPOTrainer]) -> None:
    for name, plain in PLAIN.items():
        if settings.get(name) not in (plain, None):
            allowed = f"{plain}: audits cover only log-probabilities of sampled tokens"
            raise argument_error(name, settings[name], allowed)
    if (beta := settings.get("beta")) is not None and not (isinstance(beta, (int, float)) and beta >= 0):
        raise argument_error("beta", beta, "a number, at least 0")
    for name in NOT_RUN:
        if getattr(trainer, name) is not getattr(GRPOTrainer, name):
            allowed = f"a subclass with its own {' and '.join(RUN_HERE)}, which run here; {name} does not"
            raise argument_error("trainer", f"{trainer.__name__}.{name}", allowed)


class _Scripted(torch.nn.Module):
    """A model that returns prescribed log-probabilities of the given tokens."""

    is_gradient_checkpointing = False
    log_probs = torch.zeros(0, 0)

    def forward(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:
        """Prescribed log-probabilities (answers, tokens - 1), of all tokens but the first."""
        answers = self.log_probs[: len(input_ids), : input_ids.shape[1] - 1]
        return SimpleNamespace(log_probs=answers, entropy=torch.zeros_like(answers), aux_loss=None)


class _Script:
    """A trainer with prescribed answers, rewards and models; `score` runs its own generate-and-score."""

    def __init__(self, trainer: Any, vllm: bool = False) -> None:
        self.trainer, self.vllm = trainer, vllm
        self.policy, self.reference = _Scripted().eval(), _Scripted()

    def score(self, mask: Tensor, sampler: Tensor, rewards: Sequence[float], group_size: int) -> Any:
        """Inputs of the loss, by TRL's scoring, for answers with this mask (answers, tokens) and rewards."""
        trainer, rows = self.trainer, len(mask)
        lengths = [int(row.nonzero()[-1]) + 1 if row.any() else 1 for row in mask]
        ids = [[2] * length for length in lengths]
        logs = [row[:length].tolist() for row, length in zip(sampler, lengths, strict=True)]
        masks = [row[:length].long().tolist() for row, length in zip(mask, lengths, strict=True)]
        holes = any(0 in row for row in masks)
        answer = ([[2]] * rows, ids, masks if holes else None, ["a"] * rows)
        trainer._generate = lambda prompts: (*answer, logs if self.vllm else None, {}, None, [])
        trainer.model, trainer.ref_model = self.policy, self.reference if trainer.beta else None
        trainer.reward_funcs, trainer.reward_weights = [lambda **_: list(rewards)], torch.ones(1)
        trainer.use_vllm, trainer.num_generations_eval = self.vllm, group_size
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # The sampler's log-probabilities become tensors.
        try:
            scored = trainer._generate_and_score_completions([{"prompt": "a"} for _ in range(rows)])
        finally:
            torch.set_default_dtype(usual)
        trainer._metrics["eval"].clear()
        for logged in trainer._logs.values():
            for values in logged.values() if isinstance(logged, dict) else (logged,):
                values.clear()
        return scored


def trainer_loss(trainer: GRPOTrainer, *, vllm: bool = False) -> Callable[..., Tensor]:
    """Wrap the trainer's own step as a loss of log-probabilities, in evaluation mode without accumulation.

    Scoring uses equal rewards, so that the trainer's own advantages contain only its additions to the reward;
    the given advantages are added to them. With vllm, `log_old` is the sampler's. TRL's own scoring is
    deterministic, and therefore runs once per batch.
    """
    script, scored = _Script(trainer, vllm), dict[tuple[Any, ...], Any]()
    as_trl = type(trainer)._generate_and_score_completions is GRPOTrainer._generate_and_score_completions

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        rows, width = mask.shape
        script.policy.log_probs = log_pi.detach() if vllm else log_old
        script.reference.log_probs = log_ref
        key = tuple(map(_fingerprint, (mask, log_old, log_ref, script.policy.log_probs)))
        if key not in scored or not as_trl:
            scored[key] = script.score(mask, log_old, [0.0] * rows, rows)
        inputs = {name: _widened(name, value, width) for name, value in scored[key].items()}
        own = inputs["advantages"].to(advantages.dtype)
        inputs["advantages"] = advantages[:, 0] + own if own.dim() == 1 else advantages + own
        if not torch.equal(log_old, log_pi):  # Otherwise the trainer uses the policy itself.
            inputs.setdefault("old_per_token_logps", log_old)
        script.policy.log_probs = log_pi
        total: Tensor = trainer.compute_loss(script.policy, inputs)
        trainer._metrics["eval"].clear()
        return total

    return loss


def _fingerprint(tensor: Tensor) -> tuple[Any, ...]:
    """Hashable key, equal for tensors with equal shape, dtype and bytes."""
    plain = tensor.detach().contiguous()
    return tensor.shape, tensor.dtype, plain.view(torch.uint8).numpy().tobytes()


def _widened(name: str, value: Any, width: int) -> Any:
    """Tensor `value` of a batch, padded to `width` tokens; other values and prompts unchanged."""
    if not isinstance(value, Tensor) or value.dim() != 2 or name.startswith("prompt"):
        return value
    ratio = name == "importance_sampling_ratio"
    if ratio and value.shape[1] == 1:
        return value  # One ratio for the whole answer.
    return pad(value, (0, width - value.shape[1]), value=float(ratio or name == "tool_mask"))


def trainer_advantage(trainer: GRPOTrainer) -> Callable[[Tensor], Tensor]:
    """Wrap the trainer's own advantages as a function of rewards (groups, G), for answers of one token."""
    script = _Script(trainer)

    def advantage(rewards: Tensor) -> Tensor:
        groups, size = rewards.shape
        mask = torch.ones(groups * size, 1, dtype=torch.float64)
        script.policy.log_probs = script.reference.log_probs = -mask
        scored = script.score(mask, -mask, rewards.flatten().tolist(), size)
        advantages: Tensor = scored["advantages"].reshape(groups, size, -1)[..., 0].double()
        return advantages

    return advantage


def build_trainer(
    settings: Mapping[str, Any],
    trainer: type[GRPOTrainer] = GRPOTrainer,
    config: type[GRPOConfig] = GRPOConfig,
) -> GRPOTrainer:
    """Build a trainer with these settings, except for LOCAL_SETTINGS; errors as in `audit_trainer`."""
    _refuse(settings, trainer)
    sizes = {"vocabulary": len(_WORDS), "hidden": 8, "layers": 2, "heads": 2, "intermediate_size": 16}
    size = int(settings.get("num_generations") or 8)
    batch = {"per_device_train_batch_size": size, "num_generations": size}
    with TemporaryDirectory() as folder:
        random_llama(0, **sizes, end=1, pad_token_id=0).save_pretrained(folder)
        return trainer(
            model=folder,
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=config(**{**settings, **LOCAL_SETTINGS, **batch, "output_dir": folder}),
            train_dataset=Dataset.from_list([{"prompt": "a"}] * size),
            processing_class=word_level(_WORDS, "<pad>", pad_token="<pad>", eos_token="<eos>"),
        )
