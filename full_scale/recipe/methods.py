"""The methods by name, as TRL settings: where a method of `dph_theory.losses` becomes a DPHConfig."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from dph_theory import DIVERGENCES, beta_for_mean_validity
from dph_theory.losses import MAXRL, TARGETED, Exploration, Method, Penalty, Rehearsal
from dph_theory.losses import METHODS as LOSSES
from dph_theory.support.errors import RefusedError, argument_error, choice

from .rehearsal import DEFINITION, rehearses
from .schema import MethodConfig

_GROUPS_OF_EQUAL_REWARDS = (
    "Dynamic sampling is not done: TRL samples no further prompts in place of groups of equal rewards. "
    "Their advantages are 0, yet their tokens count in the mean, so that the exploration's gradient loses "
    "the share of tokens that lie in such groups (frac_reward_zero_std tells the share of groups)."
)
_DEVIATION = (
    "Advantages are divided by the group's sample std plus 1e-4 (TRL), not the population's: they are "
    "smaller by sqrt((G-1)/G) at group size G."
)

_BASELINE = (
    "A constant or leave-one-out baseline: advantages are not std-normalised: their scale is then the"
    " learning rate's matter."
)
_DEFINITION = (
    "Definition form: the divergence is taken on the policy's own samples of the training prompts, against "
    "the reference at hand; the generator form takes it on stored correct samples of the rehearsed prompts."
)
_RELEASED = (
    "The rehearsal's loss is the one of the authors' released code, not the paper's generator: dph audit"
    " finds what it minimises."
)


@dataclass(frozen=True)
class Setup:
    """What a recipe's method asks of the trainer: fields of DPHConfig, and sentences on what is done how."""

    arguments: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def rehearses(self) -> bool:
        """Whether it needs the rehearsal buffer."""
        return rehearses(self.arguments)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        **LOSSES,
        "GRPO": replace(LOSSES["GRPO"], penalty=None),
        "GRPO-KL": replace(LOSSES["GRPO"], name="GRPO-KL"),
        "MaxRL": MAXRL,
        **{name: method for name, method in TARGETED.items() if name != "reverse"},
    }
)
"""By name; in recipes GRPO has no KL penalty, and GRPO-KL is GRPO as published."""


def setup(
    config: MethodConfig, base_rates: Sequence[float] = (), train: Mapping[str, Any] = MappingProxyType({})
) -> Setup:
    """The DPHConfig fields of a method with what the recipe changes in it: there, and in its `train`.

    `base_rates` are the measured base pass rates of the training prompts, from which a target pass
    rate mu gives beta. ValueError for an unknown method, and for a change it has no place for.
    """
    choice("method.name", config.name, METHODS)
    method = METHODS[config.name]
    _no_place_for(config, method)
    arguments, notes = exploration_arguments(method.exploration)
    arguments["two_backward"] = config.two_backward
    divisor = config.divided_by or method.exploration.divided_by
    # TRL divides by the std or by nothing, this package's trainer by the mean.
    arguments["scale_rewards"] = "group" if divisor == "std" else "none"
    if divisor == "mean":
        arguments["divided_by_mean"] = True
    if config.rate_power is not None:
        arguments |= {"rate_power": config.rate_power, "scale_rewards": "none"}
    if config.baseline is not None:
        arguments |= {"baseline": config.baseline, "scale_rewards": "none"}
        notes = [*notes, _BASELINE]
    if method.alpha is not None:
        # The sum over the tokens of each completion, averaged over completions, is what entries `alpha_dpg`
        # is about.
        arguments |= {"loss_type": "luspo", "importance_sampling_level": "sequence", "online": "alpha_dpg"}
        arguments["alpha"] = method.alpha if config.alpha is None else config.alpha
    if method.penalty is not None:
        notes += _penalised(arguments, config, method.penalty, base_rates)
    if method.rehearsal is not None:
        notes += _rehearsed(arguments, config, method.rehearsal)
    _no_place_in_train(config, arguments, train)
    arguments |= train
    if arguments["scale_rewards"] in ("group", True) and method.alpha is None:
        notes = [_DEVIATION, *notes]
    return Setup(MappingProxyType(arguments), tuple(notes))


_OF_METHOD = {
    **{field.name: f"method.{field.name}" for field in fields(MethodConfig)},
    **dict.fromkeys(("online", "online_beta", "rehearsal_level", "rehearsal_reduction"), "method.name"),
}
"""Fields of DPHConfig that a method decides, and the key of a recipe that changes each."""


def _no_place_in_train(config: MethodConfig, arguments: Mapping[str, Any], train: Mapping[str, Any]) -> None:
    """ValueError for a key of `train` that the method decides, or that would do nothing under it."""
    for key in train:
        if key in _OF_METHOD:
            raise argument_error("train key", key, f"set {_OF_METHOD[key]} instead")
    alpha_dpg = arguments.get("online") == "alpha_dpg"
    summed = f"none: {config.name} sums over whole answers"
    undivided = config.baseline is not None or arguments.get("online") in ("alpha_dpg", "sequence_kl")
    undivided |= arguments.get("divided_by_mean", False) or config.rate_power is not None
    places = {
        "loss_type": (not alpha_dpg, summed),
        "importance_sampling_level": (not alpha_dpg, summed),
        "scale_rewards": (not undivided, f"none: {config.name} here divides as method.divided_by says"),
        "use_bias_correction_kl": (
            arguments["beta"] > 0,
            f"none: {config.name} has no KL in the loss; GRPO-KL, RKL and KL-control do",
        ),
        "ratio_clip": (alpha_dpg, f"none: {config.name} has no ratio to p_*; alpha-DPG and KL-DPG do"),
    }
    for name, (place, allowed) in places.items():
        if name in train and not place:
            raise argument_error(f"train.{name}", train[name], allowed)


def exploration_arguments(exploration: Exploration) -> tuple[dict[str, Any], list[str]]:
    """GRPOConfig's fields for an exploration, and what TRL does otherwise; ValueError where it cannot."""
    if exploration.level != "token":
        raise argument_error(
            "level", exploration.level, "token: TRL's sequence ratio is the geometric mean of tokens'"
        )
    if exploration.dual_clip is not None and exploration.dual_clip < 1 + exploration.clip_high:
        # TRL's delta holds the ratio down whatever the advantage's sign.
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


def _no_place_for(config: MethodConfig, method: Method) -> None:
    rehearsal, penalty = method.rehearsal, method.penalty
    has_alpha = method.alpha is not None or _is_alpha(rehearsal)
    places = {
        "eta": (rehearsal is not None, "DPH methods"),
        "gauge": (rehearsal is not None, "DPH methods"),
        "divergence": (rehearsal is not None, "DPH methods"),
        "beta": (penalty is not None, "GRPO-KL, RKL and KL control"),
        "mu": (penalty is not None and method.name in TARGETED, "KL control"),
        "alpha": (has_alpha, "DPH-alpha and alpha-DPG"),
        "beta_from": (penalty is not None and penalty.form == "reward", "KL control by sequences"),
        "excess_bound": (penalty is not None and penalty.form == "reward", "KL control by sequences"),
        "baseline": (
            method.alpha is None and method.exploration.divided_by != "mean",
            "methods whose rewards are 0 and 1, and not divided by their mean,",
        ),
        "rate_power": (
            method.alpha is None
            and (penalty is None or penalty.form == "loss")
            and config.baseline is None
            and (config.divided_by or method.exploration.divided_by) != "mean",
            "methods not divided by the mean, with the group's mean as baseline and no KL in the reward",
        ),
        "divided_by": (
            method.alpha is None and (penalty is None or penalty.form == "loss") and config.baseline is None,
            "methods with the group's mean as baseline and no KL in the reward",
        ),
        "rehearsal_form": (rehearsal is not None, "DPH methods"),
    }
    for name, (place, who) in places.items():
        if (value := getattr(config, name)) is not None and not place:
            raise argument_error(f"method.{name}", value, f"{config.name} has none; only {who} do")
    if config.name == "KL-DPG" and config.alpha not in (None, 1):
        raise argument_error("method.alpha", config.alpha, "KL-DPG is alpha-DPG at alpha = 1; name alpha-DPG")


def _penalised(
    arguments: dict[str, Any], config: MethodConfig, penalty: Penalty, base_rates: Sequence[float]
) -> list[str]:
    notes: list[str] = []
    beta = penalty.coefficient if config.beta is None else config.beta
    if config.mu is not None:
        beta, notes = _beta_for(config.mu, base_rates)
    if penalty.form == "reward":
        fall = {"beta_from": config.beta_from, "excess_bound": config.excess_bound}
        arguments |= {"online": "sequence_kl", "online_beta": beta, **fall}
    else:
        # GRPO's and the RKL baseline's authors differentiate the plain k3, which descends the forward KL.
        arguments |= {"beta": beta, "use_bias_correction_kl": penalty.estimator == "k3_corrected"}
    return notes


def _beta_for(mu: float, base_rates: Sequence[float]) -> tuple[float, list[str]]:
    if not len(base_rates):
        raise RefusedError(f"no base pass rates for method.mu={mu:g}: run dph presample --config ...")
    rates = list(base_rates)
    beta = float(beta_for_mean_validity(rates, mu))
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
    for name in ("eta", "gauge", "divergence", "alpha", "rehearsal_form"):
        if (value := getattr(config, name)) is not None:
            arguments[name] = value
    return {"generator": [], DEFINITION: [_DEFINITION]}.get(arguments["rehearsal_form"], [_RELEASED])


def _is_alpha(rehearsal: Rehearsal | None) -> bool:
    return rehearsal is not None and rehearsal.divergence.name not in DIVERGENCES
