"""What the installed trainer descends with a given configuration: its own loss, on every sample of a problem.

A two-layer Llama makes the trainer; its log-probabilities are then those of the audited problems. What runs
is the trainer's own `compute_loss` with its flags: nothing of it is re-stated.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer

from dph_theory.audit import AuditReport, audit
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
}
"""What is set for this machine whatever the configuration says: none of it enters the loss of a batch."""
_WORDS = ("<pad>", "<eos>", "a", "b")


def audit_trainer(
    config: GRPOConfig, trainer: type[Any] = GRPOTrainer, *, samples: str = "policy", seed: int = 0
) -> AuditReport:
    """What `dph_theory.audit.audit` finds of the loss that this trainer computes with this configuration.

    Raises ValueError for a trainer without `compute_loss`, or settings whose loss needs more than the sampled
    tokens' log-probabilities: an entropy bonus, an entropy quantile, the Liger kernel.
    """
    if not hasattr(trainer, "_get_per_token_logps_and_entropies") or not hasattr(trainer, "compute_loss"):
        raise argument_error("trainer", trainer.__name__, "a GRPOTrainer, or a subclass of one")
    settings = {f.name: getattr(config, f.name) for f in fields(config) if f.init}
    with TemporaryDirectory() as folder:
        return audit_settings(settings, Path(folder), trainer, type(config), samples=samples, seed=seed)


def audit_file(path: Path, *, samples: str = "policy", seed: int = 0) -> tuple[AuditReport, tuple[str, ...]]:
    """The same of a YAML file of GRPOConfig's settings, and the names in it that are none of them.

    Raises ValueError for a file that holds no settings.
    """
    import yaml  # Comes with transformers.

    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(given, dict):
        raise argument_error("config", str(path), "a YAML file of settings of GRPOConfig")
    known = {f.name for f in fields(GRPOConfig) if f.init}
    settings = {name: value for name, value in given.items() if name in known}
    with TemporaryDirectory() as folder:
        report = audit_settings(settings, Path(folder), GRPOTrainer, GRPOConfig, samples=samples, seed=seed)
    return report, tuple(sorted(set(given) - known))


def audit_settings(
    settings: Mapping[str, Any],
    folder: Path,
    trainer: type[GRPOTrainer],
    config: type[GRPOConfig],
    *,
    samples: str = "policy",
    seed: int = 0,
) -> AuditReport:
    """The audit of these settings; the trainer's files go to the folder."""
    _refuse(settings)
    loss = trainer_loss(_build(settings, folder, trainer, config), vllm=bool(settings.get("use_vllm")))
    name = f"{trainer.__name__} ({settings.get('loss_type', GRPOConfig.loss_type)})"
    return audit(loss, samples=samples, name=name, seed=seed)


def _refuse(settings: Mapping[str, Any]) -> None:
    needs = "what the sampled tokens' log-probabilities decide"
    for name, plain in (("entropy_coef", 0.0), ("top_entropy_quantile", 1.0)):
        value = settings.get(name, plain)
        if value not in (plain, None):
            raise argument_error(name, value, f"{plain}: only {needs} can be audited")
    for name in ("use_liger_kernel", "use_adaptive_entropy"):
        if settings.get(name):
            raise argument_error(name, True, f"False: only {needs} can be audited")


def trainer_loss(
    trainer: GRPOTrainer, *, vllm: bool = False, correction: Tensor | None = None
) -> Callable[..., Tensor]:
    """The trainer's own `compute_loss` as a loss of log-probabilities, in evaluation: no steps accumulate.

    vllm: as in a run that samples with vLLM; correction: its ratio at each token, one if there is none.
    """
    given: dict[str, Tensor] = {}

    def log_probs(*_: Any, **__: Any) -> tuple[Tensor, Tensor, None]:
        return given["log_pi"], torch.zeros_like(given["log_pi"]), None

    trainer._get_per_token_logps_and_entropies = log_probs
    trainer.use_vllm = vllm
    trainer.model.eval()

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        given["log_pi"] = log_pi
        ids = torch.ones(mask.shape, dtype=torch.long)
        inputs = {
            "prompt_ids": ids[:, :1],
            "prompt_mask": ids[:, :1],
            "completion_ids": ids,
            "completion_mask": mask,
            "advantages": advantages[:, 0],
            "old_per_token_logps": log_old,
            "ref_per_token_logps": log_ref,
            "sampling_per_token_logps": log_old,
            "importance_sampling_ratio": torch.ones_like(mask) if correction is None else correction,
            "num_items_in_batch": mask.sum(),
        }
        found: Tensor = trainer.compute_loss(trainer.model, inputs)
        trainer._metrics["eval"].clear()
        return found

    return loss


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
