"""From a run's whole configuration to its law: what a trainer's settings penalise, weigh, and leave inert.

Each reader states its trainer's defaults at one version or commit, where they were read; a run of another
one may differ.
"""

import json
import math
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, choice
from ..trainers import ENDS, KLTerm

Settings = Mapping[str, Any]
DIVIDED, CENTRED, LEARNED = (
    "the group's mean subtracted, divided by its deviation: alpha_G(V) on grad V (theory E4)",
    "the group's mean subtracted: the same weight at every pass rate",
    "a learned value function: no weight is known",
)
TOKENS, ANSWERS, SUMS = (
    "mean over the tokens of the batch",
    "mean over each answer's tokens, then over answers: longer right answers gain under a token penalty (G8)",
    "sum over each answer's tokens",
)
SAME = "the policy itself"


@dataclass(frozen=True)
class Configuration:
    """What a run's settings amount to.

    penalty: the KL term in symbols, with its coefficient; law: what it obeys where it ends; selects: where
    that is with a small coefficient, a key of `trainers.ENDS` or what stands for it. advantage, reduction,
    updates (optimiser steps a batch; None where the settings do not tell), sampler. inert: settings without
    effect; uncovered: those whose effect on the law is not known here; warnings: what a reader should know.
    """

    trainer: str
    version: str
    penalty: str
    law: str
    selects: str
    advantage: str
    reduction: str
    updates: float | None
    sampler: str
    inert: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def configuration_of(settings: Settings, trainer: str | None = None) -> Configuration:
    """What these settings, flat and by their trainer's own names, amount to.

    Parameters: `settings`, such as {"actor_rollout_ref.actor.use_kl_loss": True}; `trainer`, one of READERS,
    by default told by the names. Raises ValueError where it cannot be told, and for a negative coefficient.
    Source: ours, theory E1 to E4, G2, G8, B6; each trainer's code at the version told.

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}).law
    'none: nothing holds the policy to the base'
    """
    if trainer is None:
        trainer = next((name for name, own in OWN.items() if any(own(key) for key in settings)), None)
    if trainer is None:
        few = ", ".join(list(settings)[:4])
        raise argument_error("settings", few, f"names of one of {', '.join(READERS)}; or say the trainer")
    choice("trainer", trainer, tuple(READERS))
    return READERS[trainer](_Asked(settings))


class _Asked(dict[str, Any]):
    """Settings, with a default where they are silent."""

    def number(self, name: str, default: float) -> float:
        """A number, at least zero."""
        value = self.get(name, default)
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = -1.0
        if not found >= 0:
            raise argument_error(name, value, "a number, at least 0")
        return found

    def on(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self.get(name, default)
        return value.lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


def _with(term: KLTerm | None, coefficient: float) -> dict[str, str]:
    """The penalty, its law and its end."""
    if term is None or coefficient == 0:
        law = "none: nothing holds the policy to the base"
        end = "nothing: the pass rate tends to 1, and sampling decides which right answers stay (A2, G3)"
        return {"penalty": "none", "law": law, "selects": end}
    return {"penalty": f"{coefficient:g} x {term.formula}", "law": term.law, "selects": term.selects}


def _trl(asked: _Asked) -> Configuration:
    beta, bias = asked.number("beta", 0.0), asked.on("use_bias_correction_kl", True)
    level, vllm = asked.get("importance_sampling_level", "token"), asked.on("use_vllm")
    place = ("answer ratio" if level == "sequence" else "ratio") if bias else "loss"
    term = KLTerm("TRL", "1.16", "trl/trainer/grpo_trainer.py", "", place)
    mode = asked.get("vllm_importance_sampling_mode", "sequence_mask")
    corrected = mode if asked.on("vllm_importance_sampling_correction", True) else "nothing"
    scale = str(asked.get("scale_rewards", "group")).lower()
    kind = asked.get("loss_type", "dapo")
    reduction = {"grpo": ANSWERS, "sapo": ANSWERS, "dr_grpo": SUMS, "luspo": SUMS}.get(kind, TOKENS)
    accumulated = asked.number("gradient_accumulation_steps", 1)
    parts = asked.number("steps_per_generation", accumulated) / accumulated
    batch = "the group's mean subtracted, divided by the whole batch's deviation, which couples the groups"
    inert = ["use_bias_correction_kl (beta = 0)"] if beta == 0 and "use_bias_correction_kl" in asked else []
    warnings = []
    if asked.on("sync_ref_model"):
        inert += ["sync_ref_model (beta = 0)"] if beta == 0 else []
        warnings += ["the reference follows the policy: no law of a fixed base holds"] if beta else []
    if vllm and beta:
        warnings.append("vLLM's correction weighs the policy's term, not the KL")
    names = ("entropy_coef", "off_policy_mask_threshold", "use_liger_kernel", "mask_truncated_completions")
    return Configuration(
        "TRL",
        "1.16",
        **_with(term, beta),
        advantage={"none": CENTRED, "false": CENTRED, "batch": batch}.get(scale, DIVIDED),
        reduction=reduction,
        updates=asked.number("num_iterations", 1) * max(1.0, parts),
        sampler=f"vLLM, corrected by {corrected}" if vllm else SAME,
        inert=tuple(inert),
        uncovered=_set(asked, names),
        warnings=tuple(warnings),
    )


_ACTOR, _ALGORITHM = "actor_rollout_ref.actor.", "algorithm."
_VERL_ESTIMATORS: Mapping[str, tuple[str, float | None, float | None]] = MappingProxyType(
    {
        **dict.fromkeys(("kl", "k1"), ("k1", None, None)),
        "abs": ("abs", None, None),
        **dict.fromkeys(("mse", "k2"), ("k2", None, None)),
        **dict.fromkeys(("low_var_kl", "k3"), ("k3", 20.0, 10.0)),
    }
)


def _verl(asked: _Asked) -> Configuration:
    in_loss, in_reward = asked.on(_ACTOR + "use_kl_loss"), asked.on(_ALGORITHM + "use_kl_in_reward")
    name, plain = (_ALGORITHM + "kl_penalty", "kl") if in_reward else (_ACTOR + "kl_loss_type", "low_var_kl")
    kind = str(asked.get(name, plain))
    through = kind.endswith("+") and not in_reward
    choice(name, kind.removesuffix("+"), tuple(_VERL_ESTIMATORS))
    estimator, inner, outer = _VERL_ESTIMATORS[kind.removesuffix("+")]
    place = "reward" if in_reward else "straight through" if through else "loss"
    term = KLTerm("verl", _VERL_READ, "verl/trainer/ppo/core_algos.py", "", place, estimator, inner, outer)
    of_loss = asked.number(_ACTOR + "kl_loss_coef", 0.001) if in_loss else 0.0
    coefficient = asked.number(_ALGORITHM + "kl_ctrl.kl_coef", 0.001) if in_reward else of_loss
    weighs = str(asked.get(_ALGORITHM + "adv_estimator", "gae"))
    divided = asked.on(_ALGORITHM + "norm_adv_by_std_in_grpo", True) and weighs.startswith("grpo")
    plainly = LEARNED if weighs == "gae" else f"{CENTRED} ({weighs})"
    inert = [f"{_ACTOR}{of} (use_kl_loss is off)" for of in _LOSS if _ACTOR + of in asked and not in_loss]
    inert += [
        f"{_ALGORITHM}{of} (use_kl_in_reward is off)"
        for of in _REWARD
        if _ALGORITHM + of in asked and not in_reward
    ]
    if in_loss and (place, estimator) == ("loss", "k1"):
        inert.append(f"kl_loss_type={kind}: the gradient of its mean is zero (theory B6)")
    warnings = []
    if in_reward and divided:
        warnings.append(
            "KL in the reward and then division by the group's deviation: at the law penalised rewards have "
            "deviation zero, and a noise stays that more groups do not lessen (theory G2)"
        )
    if in_loss and in_reward:
        warnings.append("a KL in the loss beside that in the reward: their sum has no law here")
    mean = str(asked.get(_ACTOR + "loss_agg_mode", "token-mean"))
    parts = _ratio(asked, ("data.train_batch_size",), _ACTOR + "ppo_mini_batch_size")
    others = [_ACTOR + "entropy_coeff", _ACTOR + "policy_loss.loss_mode", _ALGORITHM + "use_pf_ppo"]
    return Configuration(
        "verl",
        _VERL_READ,
        **_with(term, coefficient),
        advantage=DIVIDED if divided else plainly,
        reduction={"token-mean": TOKENS, "seq-mean-token-mean": ANSWERS}.get(mean, SUMS),
        updates=None if parts is None else asked.number(_ACTOR + "ppo_epochs", 1) * max(1.0, parts),
        sampler="the rollout engine; not corrected unless algorithm.rollout_correction says so",
        inert=tuple(inert),
        uncovered=_set(asked, others),
        warnings=tuple(warnings),
    )


_LOSS, _REWARD = ("kl_loss_coef", "kl_loss_type"), ("kl_ctrl.kl_coef", "kl_penalty")


def _slime(asked: _Asked) -> Configuration:
    kind, estimator = asked.get("kl-loss-type", "k1"), asked.get("advantage-estimator", "grpo")
    in_loss, in_reward = asked.on("use-kl-loss"), asked.number("kl-coef", 0.0)
    place = "ratio" if asked.on("use-unbiased-kl") else "loss"
    outer = 10.0 if kind == "low_var_kl" else None
    form = "k3" if kind == "low_var_kl" else str(kind)
    clamped = "clamped ratio" if outer and place == "ratio" else place
    term = KLTerm("slime", _SLIME_READ, "slime/utils/ppo_utils.py", "", clamped, form, None, outer)
    coefficient = asked.number("kl-loss-coef", 0.0) if in_loss else 0.0
    inert, warnings = [], []
    group = estimator in ("grpo", "gspo", "cispo")
    if in_reward and group:
        inert.append(f"--kl-coef: under {estimator} the KL is computed and dropped")
    elif in_reward:
        term = replace(term, place="reward to go", estimator=form, outer=outer)
        coefficient = in_reward
    if "kl-loss-coef" in asked and not in_loss:
        inert.append("--kl-loss-coef (no --use-kl-loss)")
    if in_loss and place == "loss" and form == "k1":
        inert.append("--kl-loss-type k1: the gradient of its mean is zero (theory B6)")
    if in_loss and coefficient == 0:
        inert.append("--use-kl-loss (--kl-loss-coef is 0)")
    if asked.get("ref-update-interval"):
        warnings.append("the reference follows the policy: no law of a fixed base holds")
    divided = group and not asked.on("disable-grpo-std-normalization")
    told = _ratio(asked, ("rollout-batch-size", "n-samples-per-prompt"), "global-batch-size")
    steps = asked.number("num-steps-per-rollout", 0)
    return Configuration(
        "slime",
        _SLIME_READ,
        **_with(term, coefficient),
        advantage=DIVIDED if divided else CENTRED if group else f"that of {estimator}: no weight is known",
        reduction=TOKENS if asked.on("calculate-per-token-loss") else ANSWERS,
        updates=steps or told,
        sampler="SGLang, corrected by truncation" if asked.on("use-tis") else "SGLang, not corrected",
        inert=tuple(inert),
        uncovered=_set(asked, ("entropy-coef", "use-opsm", "use-opd", "normalize-advantages")),
        warnings=tuple(warnings),
    )


def _openrlhf(asked: _Asked) -> Configuration:
    coefficient = asked.number("algo.kl.init_coef", 0.01)
    form, in_loss = str(asked.get("algo.kl.estimator", "k1")), asked.on("algo.kl.use_loss")
    place = "loss" if in_loss else "reward to go"
    term = KLTerm("OpenRLHF", _OPENRLHF_READ, "openrlhf/models/utils.py", "", place, form, None, 10.0)
    estimator = str(asked.get("algo.advantage.estimator", "gae"))
    inert, warnings = [], []
    if in_loss and form == "k1":
        inert.append("algo.kl.estimator=k1 in the loss: the gradient of its mean is zero (theory B6)")
    if "algo.kl.init_coef" not in asked:
        warnings.append("algo.kl.init_coef is 0.01 unless it is set")
    advantage = {"gae": LEARNED, "group_norm": DIVIDED}.get(estimator, f"{CENTRED} ({estimator})")
    return Configuration(
        "OpenRLHF",
        _OPENRLHF_READ,
        **_with(term, coefficient),
        advantage=advantage,
        reduction=TOKENS,
        updates=asked.number("train.max_epochs", 1) if "train.max_epochs" in asked else None,
        sampler="vLLM" + ", corrected" * asked.on("algo.advantage.is_correction_enable"),
        inert=tuple(inert),
        uncovered=_set(asked, ("actor.entropy_coef", "algo.kl.target", "actor.policy_loss_type")),
        warnings=tuple(warnings),
    )


def _set(asked: _Asked, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that are set to something."""
    return tuple(f"{name}={asked[name]}" for name in names if asked.get(name) not in (None, False, 0, ""))


def _ratio(asked: _Asked, above: Sequence[str], below: str) -> float | None:
    """A product of settings over another; None where one is silent."""
    if any(name not in asked for name in (*above, below)):
        return None
    return math.prod(asked.number(name, 1) for name in above) / asked.number(below, 1)


_VERL_READ, _SLIME_READ, _OPENRLHF_READ = "b178a3cd5", "624b824a8", "3c3be6234"
READERS: Mapping[str, Callable[[_Asked], Configuration]] = MappingProxyType(
    {"trl": _trl, "verl": _verl, "slime": _slime, "openrlhf": _openrlhf}
)
OWN: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "verl": lambda key: key.startswith(("actor_rollout_ref.", "algorithm.")),
        "openrlhf": lambda key: key.startswith(("algo.", "actor.policy_loss_type", "reward.", "rollout.")),
        "slime": lambda key: "-" in key and "." not in key,
        "trl": lambda key: key in ("beta", "loss_type", "num_generations", "scale_rewards", "num_iterations"),
    }
)
"""By which names a trainer's settings are told."""


def read(path: Path | None, overrides: Sequence[str] = ()) -> Settings:
    """Settings of a YAML, JSON or TOML file, or of a command line in a file, and overrides, flat.

    Raises ValueError for a file that holds no settings, or an override without a value.
    """
    found: dict[str, Any] = {}
    if path is not None:
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".yaml", ".yml"):
            try:
                import yaml
            except ImportError as error:
                raise argument_error("config", str(path), "JSON or TOML without PyYAML installed") from error
            found = _flat(path, yaml.safe_load(text))
        elif path.suffix in (".json", ".toml"):
            found = _flat(path, json.loads(text) if path.suffix == ".json" else tomllib.loads(text))
        else:
            found = _arguments(shlex.split(text.replace("\\\n", " "), comments=True))
        if not found:
            raise argument_error("config", str(path), "a file that holds settings")
    return {**found, **_arguments(list(overrides))}


def _flat(path: Path, value: Any, before: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise argument_error("config", str(path), "a file of settings, name by name")
    found: dict[str, Any] = {}
    for name, inner in value.items():
        found |= (
            _flat(path, inner, f"{before}{name}.") if isinstance(inner, dict) else {f"{before}{name}": inner}
        )
    return found


def _arguments(words: list[str]) -> dict[str, Any]:
    """name=value, +name=value, --name value, --name=value and --name alone; other words are left out."""
    found: dict[str, Any] = {}
    for place, word in enumerate(words):
        name, equals, value = word.lstrip("+-").partition("=")
        if equals and name:
            found[name] = _value(value)
        elif word.startswith("--") and name:
            after = words[place + 1] if place + 1 < len(words) else "--"
            found[name] = True if after.startswith("--") or "=" in after else _value(after)
    return found


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return {"true": True, "false": False, "null": None, "none": text}.get(text.lower(), text.strip("'\""))


def end_words(found: Configuration) -> str:
    """Where it ends, in words."""
    return f"{ENDS[found.selects]} (the {found.selects})" if found.selects in ENDS else found.selects
