"""The methods by name, and their translation from `dph_theory.losses` to TRL settings (a DPHConfig)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from dph_theory import DIVERGENCES
from dph_theory.binary_reward import beta_for_mean_pass_rate
from dph_theory.losses import DPH_MAXRL, MAXRL, TARGETED, Exploration, Method, Penalty, Rehearsal
from dph_theory.losses import METHODS as LOSSES
from dph_theory.support.checking import typed_arguments
from dph_theory.support.errors import RefusedError, argument_error, choice

from .rehearsal import DEFINITION, rehearses
from .schema import MethodConfig, Recipe
from .settings import KINDS
from .validation import check_settings

_GROUPS_OF_EQUAL_REWARDS = (
    "Dynamic sampling is not implemented: TRL does not replace groups of equal rewards by other prompts. "
    "Their advantages are 0, but their tokens count in the mean, which shrinks the exploration's gradient "
    "by the share of tokens in such groups (frac_reward_zero_std logs the share of groups)."
)
_DEVIATION = (
    "Advantages are divided by the group's sample std plus 1e-4 (TRL), not by the population std: they are "
    "smaller by sqrt((G-1)/G) at group size G."
)

_BASELINE = (
    "A constant or leave-one-out baseline: advantages are not std-normalised, so the learning rate sets"
    " their scale."
)
_DEFINITION = (
    "Definition form: the divergence is taken on the policy's own samples of the training prompts, against "
    "the loaded reference; the generator form takes it on stored correct samples of the rehearsed prompts."
)
_RELEASED = (
    "The rehearsal's loss is that of the authors' released code, not the paper's generator. dph audit"
    " shows what the loss minimises."
)


@dataclass(frozen=True)
class Setup:
    """Trainer settings of a recipe's method: fields of DPHConfig, and notes on how they are implemented."""

    arguments: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def rehearses(self) -> bool:
        """Return true if the method needs the rehearsal buffer."""
        return rehearses(self.arguments)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        **LOSSES,
        "GRPO": replace(LOSSES["GRPO"], penalty=None),
        "GRPO-KL": replace(LOSSES["GRPO"], name="GRPO-KL"),
        "MaxRL": MAXRL,
        "DPH-MaxRL": DPH_MAXRL,
        **{name: method for name, method in TARGETED.items() if name != "reverse"},
    }
)
"""Methods by name. In recipes GRPO has no KL penalty, and GRPO-KL is GRPO as published."""


def setup(
    config: MethodConfig, base_rates: Sequence[float] = (), train: Mapping[str, Any] = MappingProxyType({})
) -> Setup:
    """Translate a method, with the recipe's changes in `method` and in `train`, to fields of DPHConfig.

    `base_rates` are the measured base pass rates of the training prompts, which convert a target pass rate mu
    to beta. Raises ValueError for an unknown method, or for a change that does not apply to the method.
    """
    choice("method.name", config.name, METHODS)
    method = METHODS[config.name]
    _require_use(config, method, train)
    arguments, notes = exploration_arguments(method.exploration)
    arguments["two_backward"] = config.two_backward
    divisor = config.divided_by or method.exploration.divided_by
    # TRL divides by the std or by nothing, this package's trainer by the mean.
    arguments["scale_rewards"] = "group" if divisor == "std" else "none"
    if divisor == "mean":
        arguments["divided_by_mean"] = True
    if config.rate_power is not None or config.baseline is not None:
        arguments["scale_rewards"] = "none"
    if config.baseline is not None:
        notes = [*notes, _BASELINE]
    if method.alpha is not None:
        # Entries `alpha_dpg` treat the sum over a completion's tokens, averaged over completions.
        arguments |= {"loss_type": "luspo", "importance_sampling_level": "sequence", "online": "alpha_dpg"}
        arguments["alpha"] = method.alpha
    if method.penalty is not None:
        notes += _penalised(arguments, config, method.penalty, base_rates)
    if method.rehearsal is not None:
        notes += _rehearsed(arguments, config, method.rehearsal)
    for name in ("alpha", "beta_from", "excess_bound", "baseline", "rate_power"):
        if (value := getattr(config, name)) is not None:
            arguments[name] = value
    arguments |= train
    check_settings(arguments, {**_DECIDED_BY, **{key: f"train.{key}" for key in train}})
    if arguments["scale_rewards"] in ("group", True) and method.alpha is None:
        notes = [_DEVIATION, *notes]
    return Setup(MappingProxyType(arguments), tuple(notes))


def require_settings(recipe: Recipe) -> None:
    """Raise ValueError for a method or a setting in `train` that is not allowed; torch is not loaded."""
    typed_arguments(KINDS, dict(recipe.train), "train.", owner="GRPOConfig")
    # A target pass rate needs measured rates, which the stage itself reads.
    setup(replace(recipe.method, mu=None), train=recipe.train)


OF_RECIPE: Mapping[str, str] = MappingProxyType(
    {
        **{n: f"sampling.{n}" for n in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")},
        "max_completion_length": "sampling.max_new_tokens",
        "generation_rows": "sampling.batch_size",
        "chat_template_kwargs": "model.template",
        "bf16": "model.dtype",
        "use_vllm": "sampling.backend",
        "vllm_gpu_memory_utilization": "sampling.vllm_memory_training",
        "vllm_max_model_length": "sampling.vllm_length",
        "vllm_tensor_parallel_size": "sampling.vllm_tensor_parallel",
        "seed": "seed",
    }
)
"""Arguments of OnlineConfig that are set elsewhere in a recipe, with the key that sets each."""
_DECIDED_BY = {
    **OF_RECIPE,
    "output_dir": "output",
    "fp16": "model.dtype",
    # These would change the sampling in training only, not in the other stages.
    **dict.fromkeys(("generation_kwargs", "vllm_structured_outputs_regex"), "the keys of sampling"),
    "reward_weights": "task.options.rewards",
    **{field.name: f"method.{field.name}" for field in fields(MethodConfig)},
    **dict.fromkeys(("online", "online_beta", "rehearsal_level", "rehearsal_reduction"), "method.name"),
}
"""Keys that `train` must not contain, with the recipe key that sets each."""


def _require_use(config: MethodConfig, method: Method, train: Mapping[str, Any]) -> None:
    """Raise ValueError for a key that another key sets, or that has no effect under the method."""
    for key in train:
        if key in _DECIDED_BY:
            raise argument_error("train key", key, f"set {_DECIDED_BY[key]} instead")
    rehearses, penalty, sums = method.rehearsal is not None, method.penalty, method.alpha is not None
    in_loss, in_reward = (penalty is not None and penalty.form == form for form in ("loss", "reward"))
    own_baseline = sums or in_reward or config.baseline is not None
    by_mean = "mean" in (config.divided_by, method.exploration.divided_by)
    rehearsal = (rehearses, "only DPH methods rehearse")
    summed = (not sums, "it sums over whole answers")
    uses = {
        **{f"method.{name}": rehearsal for name in ("eta", "gauge", "divergence", "rehearsal_form")},
        "method.beta": (penalty is not None, "only GRPO-KL, RKL and KL control have a penalty"),
        "method.mu": (
            penalty is not None and method.name in TARGETED,
            "only KL control has a target pass rate",
        ),
        "method.alpha": (
            (sums or _is_alpha(method.rehearsal)) and (method.name != "KL-DPG" or config.alpha == 1),
            "only DPH-alpha and alpha-DPG have an alpha to choose",
        ),
        "method.baseline": (
            not sums and method.exploration.divided_by != "mean",
            "its rewards are divided by their mean, or other than 0 and 1",
        ),
        "method.divided_by": (not own_baseline, "the group's mean is not its baseline"),
        "train.scale_rewards": (
            not (own_baseline or by_mean or config.rate_power),
            "method.divided_by sets the divisor here",
        ),
        "train.loss_type": summed,
        "train.importance_sampling_level": summed,
        "train.use_bias_correction_kl": (
            in_loss and (config.beta is None or config.beta > 0),
            "it has no KL in the loss; GRPO-KL, RKL and KL-control do",
        ),
        "train.ratio_clip": (sums, "it has no ratio to p_*; alpha-DPG and KL-DPG do"),
    }
    written = {f"method.{name}": value for name, value in vars(config).items() if value is not None}
    written |= {f"train.{name}": value for name, value in train.items()}
    for name, (used, why) in uses.items():
        if name in written and not used:
            raise argument_error(name, written[name], f"not with {config.name}, because {why}")


def exploration_arguments(exploration: Exploration) -> tuple[dict[str, Any], list[str]]:
    """Translate an exploration to GRPOConfig fields, with notes on deviations; ValueError if impossible."""
    if exploration.level != "token":
        raise argument_error(
            "level", exploration.level, "token: TRL's sequence ratio is the geometric mean of tokens'"
        )
    if exploration.dual_clip is not None and exploration.dual_clip < 1 + exploration.clip_high:
        # TRL's delta clips the ratio for either sign of the advantage.
        raise argument_error(
            "dual_clip", exploration.dual_clip, f"at least 1 + clip_high = {1 + exploration.clip_high}"
        )
    losses = {"token_mean": "dapo", "sequence_mean": "grpo"}
    choice("reduction", exploration.reduction, losses)
    arguments = {
        "epsilon": exploration.clip_low,
        "epsilon_high": exploration.clip_high,
        "delta": exploration.dual_clip,
        "loss_type": losses[exploration.reduction],
        "scale_rewards": "group" if exploration.divided_by == "std" else "none",
        "beta": 0.0,
    }
    return arguments, [_GROUPS_OF_EQUAL_REWARDS] if exploration.dynamic_sampling else []


def _penalised(
    arguments: dict[str, Any], config: MethodConfig, penalty: Penalty, base_rates: Sequence[float]
) -> list[str]:
    notes: list[str] = []
    beta = penalty.coefficient if config.beta is None else config.beta
    if config.mu is not None:
        beta, notes = _beta_for(config.mu, base_rates)
    if penalty.form == "reward":
        arguments |= {"online": "sequence_kl", "online_beta": beta, "beta_from": None, "excess_bound": None}
    else:
        # GRPO and the RKL baseline have k3 without importance weight: the gradient of the forward KL.
        arguments |= {"beta": beta, "use_bias_correction_kl": penalty.estimator == "k3_corrected"}
    return notes


def _beta_for(mu: float, base_rates: Sequence[float]) -> tuple[float, list[str]]:
    if not len(base_rates):
        raise RefusedError(f"no base pass rates for method.mu={mu:g}: run dph presample --config ...")
    rates = list(base_rates)
    beta = float(beta_for_mean_pass_rate(rates, mu))
    never, always = sum(rate == 0 for rate in rates), sum(rate == 1 for rate in rates)
    return beta, [
        f"beta = {beta:.6g} for a mean pass rate of {mu:g} over {len(rates)} training prompts, from their "
        f"measured base pass rates (entries `many_prompts`); {never} with no correct rollout count as"
        f" staying at 0 and "
        f"{always} with none wrong as staying at 1, though more rollouts might show otherwise."
    ]


def _rehearsed(arguments: dict[str, Any], config: MethodConfig, rehearsal: Rehearsal) -> list[str]:
    arguments |= {"eta": rehearsal.eta, "gauge": rehearsal.gauge, "rehearsal_level": rehearsal.level}
    arguments |= {"rehearsal_reduction": rehearsal.reduction, "rehearsal_rows": config.rehearsal_rows}
    arguments |= {"divergence": rehearsal.divergence.name, "rehearsal_form": "generator"}
    if _is_alpha(rehearsal) and config.divergence is None:
        arguments |= {"divergence": "alpha", "alpha": rehearsal.divergence.alpha}
    for name in ("eta", "gauge", "divergence", "rehearsal_form"):
        if (value := getattr(config, name)) is not None:
            arguments[name] = value
    return {"generator": [], DEFINITION: [_DEFINITION]}.get(arguments["rehearsal_form"], [_RELEASED])


def _is_alpha(rehearsal: Rehearsal | None) -> bool:
    return rehearsal is not None and rehearsal.divergence.name not in DIVERGENCES
