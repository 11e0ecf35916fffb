"""From a run's whole configuration to its law: what a trainer's settings penalise, weigh, and leave inert.

A reader has its trainer's defaults and arithmetic at one version or commit; another's may differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, choice
from ..support.notebook import Shown
from ..support.table import Table
from ..trainers import ENDS, KLTerm, kl_form
from .settings import Asked, flat


@dataclass(frozen=True, repr=False)
class Configuration(Shown):
    """What a run's settings amount to.

    version: the one whose defaults and arithmetic were read. penalty: the KL term in symbols, with its
    coefficient; law: what it obeys where it ends; selects: where that is with a small coefficient, a key of
    `trainers.ENDS` or what stands for it. advantage, reduction, updates (optimiser steps a batch; None where
    the settings do not tell), sampler. inert: settings without effect; uncovered: those whose effect on the
    law is not known here; warnings: what a reader should know.
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

    def summary(self) -> str:
        """The KL term, its law and where it ends, then what a reader should know."""
        return "\n".join((f"{self.trainer} {self.version}: {self.penalty}", self.law, *self.warnings))

    def tables(self) -> list[Table]:
        """Everything, a row each."""
        rows = [
            *((name, str(getattr(self, name) or "-")) for name in ("penalty", "law")),
            ("ends, with a small coefficient, at", end_words(self)),
            *((name, str(getattr(self, name))) for name in ("advantage", "reduction", "sampler")),
            ("updates of a batch", "not told" if self.updates is None else f"{self.updates:g}"),
            *((name, "\n".join(getattr(self, name)) or "-") for name in ("inert", "uncovered", "warnings")),
        ]
        return [Table.of((f"{self.trainer} {self.version}", ""), rows)]


DIVIDED, CENTRED, OTHERS, MIXED, RAW, LEARNED = (
    "the group's mean subtracted, divided by its deviation: alpha_G(V) on grad V (theory E4)",
    "the group's mean subtracted: the same weight at every pass rate",
    "the mean of the group's other answers subtracted, divided by their deviation: no objective is known",
    "divided by the whole batch's deviation, which couples the groups",
    "no baseline: the same weight at every pass rate, with more noise (theory G4)",
    "a learned value function: no weight is known",
)
TOKENS, ANSWERS, SUMS = (
    "mean over the tokens of the batch",
    "mean over each answer's tokens, then over answers: longer right answers gain under a token penalty (G8)",
    "sum over each answer's tokens",
)
UNHELD = "none: nothing holds the policy to the base"
NOWHERE = "nothing: the pass rate tends to 1, and sampling decides which right answers stay (A2, G3)"
FOLLOWS = "the reference follows the policy: no law of a fixed base holds"
TRAP = (
    "KL in the reward and then division by a deviation: at the law penalised rewards have deviation zero, "
    "and a noise stays that more groups do not lessen (theory G2)"
)
CLAMPS = (20.0, 10.0)
"""Between what verl, NeMo-RL and SkyRL clamp the log ratio, and the estimate."""
READ_AT: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "TRL": ("1.16", "trl/trainer/grpo_config.py, grpo_trainer.py"),
        "verl": ("1dda039b9", "verl/trainer/config/ppo_trainer.yaml, ppo/core_algos.py"),
        "slime": ("624b824a8", "slime/utils/arguments.py, backends/megatron_utils/loss.py"),
        "OpenRLHF": ("3c3be6234", "openrlhf/cli/train_ppo_ray.py, trainer/ppo_utils/experience_maker.py"),
        "NeMo-RL": ("7ea279abf", "examples/configs/grpo_math_1B.yaml, nemo_rl/algorithms"),
        "prime-rl": ("559b44772", "packages/prime-rl-configs, src/prime_rl/trainer/rl/loss.py"),
        "SkyRL": ("a9564572e", "skyrl/train/config/config.py, backends/skyrl_train/utils/ppo_utils.py"),
        "AReaL": ("4aef98d8d", "areal/api/cli_args.py, trainer/ppo/actor.py"),
        "Tinker": ("9dfcc3a2e", "tinker_cookbook/rl/train.py, metrics.py, data_processing.py"),
    }
)
"""By trainer, the version or commit that its reader was written at, and the files that were read."""


def _term(
    place: str, estimator: str = "k3", inner: float | None = None, outer: float | None = None
) -> KLTerm:
    return KLTerm("", "", "", "", place, estimator, inner, outer)


def _clamped(place: str, estimator: str) -> KLTerm:
    return _term(place, estimator, *(CLAMPS if estimator == "k3" else ()))


def _known(weights: Mapping[str, str], estimator: str) -> str:
    return weights.get(estimator, f"that of {estimator}: no weight is known")


def _told(
    trainer: str,
    term: KLTerm,
    coefficient: float,
    *,
    divides_kl: object = False,
    inert: Sequence[str] = (),
    warnings: Sequence[str] = (),
    **others: Any,
) -> Configuration:
    """The configuration with this penalty; `divides_kl`: whether rewards that hold it are normalised."""
    penalty, law, selects = "none", UNHELD, NOWHERE
    if coefficient > 0:
        penalty = f"{coefficient:g} x {term.formula}"
        if (term.place, term.estimator) == ("loss", "k1"):
            inert = [*inert, f"k1 in the loss, {penalty}: the gradient of its mean is zero (theory B6)"]
        else:
            law, selects = term.law, term.selects
        warnings = [*warnings, TRAP] if divides_kl else warnings
    found = {"version": READ_AT[trainer][0], "penalty": penalty, "law": law, "selects": selects, **others}
    return Configuration(trainer, inert=tuple(inert), warnings=tuple(warnings), **found)


def _trl(asked: Asked) -> Configuration:
    beta, version = asked.number("beta", 0), asked.version
    bias = asked.on("use_bias_correction_kl", kl_form("trl", version=version).name == "corrected-k3")
    answer = asked.word("importance_sampling_level", "token", ("token", "sequence")) == "sequence"
    batch = f"the group's mean subtracted, {MIXED}"
    scale = {"none": CENTRED, "false": CENTRED, "batch": batch, "group": DIVIDED, "true": DIVIDED}
    reductions = {"grpo": ANSWERS, "sapo": ANSWERS, "dr_grpo": SUMS, "luspo": SUMS}
    corrected = asked.on("vllm_importance_sampling_correction", True)
    mode = asked.get("vllm_importance_sampling_mode", "sequence_mask") if corrected else "nothing"
    vllm = asked.on("use_vllm")
    accumulated = asked.count("gradient_accumulation_steps", 1)
    parts = asked.number("steps_per_generation", accumulated) / accumulated
    follows = asked.on("sync_ref_model") and beta > 0
    weighs = vllm and beta > 0
    return _told(
        "TRL",
        _term("loss" if not bias else "answer ratio" if answer else "ratio"),
        beta,
        advantage=scale[asked.word("scale_rewards", "group", scale)],
        reduction=reductions.get(asked.word("loss_type", "dapo"), TOKENS),
        updates=asked.number("num_iterations", 1) * max(1.0, parts),
        sampler=f"vLLM, corrected by {mode}" if vllm else "the policy itself",
        inert=() if beta else asked.idle("beta = 0", "use_bias_correction_kl", "sync_ref_model"),
        uncovered=asked.set_to(
            "entropy_coef", "off_policy_mask_threshold", "use_liger_kernel", "mask_truncated_completions"
        ),
        warnings=[FOLLOWS] * follows + ["vLLM's correction weighs the policy's term, not the KL"] * weighs,
        **({"version": version} if version else {}),
    )


_VERL_ADVANTAGES: Mapping[str, str] = MappingProxyType(
    {
        "gae": LEARNED,
        **dict.fromkeys(("rloo", "rloo_vectorized"), CENTRED),
        **dict.fromkeys(("reinforce_plus_plus", "reinforce_plus_plus_baseline", "gdpo"), MIXED),
        "opo": "the mean weighed by lengths subtracted: the weight depends on lengths (arXiv:2505.23585)",
        "gpg": "the group's mean subtracted, times answers over right answers of the batch, which couples it",
    }
)
_OF_VERL = {"kl": "k1", "mse": "k2", "low_var_kl": "k3", "k1": "k1", "k2": "k2", "k3": "k3", "abs": "abs"}


def _verl(asked: Asked) -> Configuration:
    actor, algorithm = "actor_rollout_ref.actor.", "algorithm."
    in_loss, in_reward = asked.on(f"{actor}use_kl_loss"), asked.on(f"{algorithm}use_kl_in_reward")
    name, plain = (f"{algorithm}kl_penalty", "kl") if in_reward else (f"{actor}kl_loss_type", "low_var_kl")
    kind = asked.word(name, plain, [*_OF_VERL, *(f"{of}+" for of in _OF_VERL)])
    of_loss = asked.number(f"{actor}kl_loss_coef", 0.001)
    of_reward = asked.number(f"{algorithm}kl_ctrl.kl_coef", 0.001)
    scaled = DIVIDED if asked.on(f"{algorithm}norm_adv_by_std_in_grpo", True) else CENTRED
    weights = {**_VERL_ADVANTAGES, "grpo": scaled, "grpo_vectorized": scaled}
    advantage = _known(weights, asked.word(f"{algorithm}adv_estimator", "gae"))
    reductions = {"token-mean": TOKENS, "seq-mean-token-mean": ANSWERS}
    parts = asked.number("data.train_batch_size", 1024) / asked.count(f"{actor}ppo_mini_batch_size", 256)
    rollout = asked.set_to(*(f"{algorithm}rollout_correction.rollout_{of}" for of in ("is", "rs")))
    idle = asked.idle("use_kl_loss is off", f"{actor}kl_loss_coef", f"{actor}kl_loss_type")
    idle = [] if in_loss else idle
    if not in_reward:
        names = (f"{algorithm}kl_ctrl.kl_coef", f"{algorithm}kl_penalty")
        idle = [*idle, *asked.idle("use_kl_in_reward is off", *names)]
    both = "a KL in the loss beside that in the reward: their sum has no law here"
    return _told(
        "verl",
        _clamped(
            "reward" if in_reward else "straight through" if kind.endswith("+") else "loss",
            _OF_VERL[kind.removesuffix("+")],
        ),
        of_reward if in_reward else of_loss * in_loss,
        advantage=advantage,
        divides_kl=in_reward and advantage in (DIVIDED, MIXED),
        reduction=reductions.get(asked.word(f"{actor}loss_agg_mode", "token-mean"), SUMS),
        updates=asked.number(f"{actor}ppo_epochs", 1) * max(1.0, parts),
        sampler=f"the rollout engine, {' and '.join(rollout) or 'not corrected'}",
        inert=idle,
        uncovered=asked.set_to(
            f"{actor}entropy_coeff", f"{actor}policy_loss.loss_mode", f"{algorithm}use_pf_ppo"
        ),
        warnings=[both] * (in_loss and in_reward),
    )


def _slime(asked: Asked) -> Configuration:
    kind = asked.word("kl-loss-type", "k1", ("k1", "k2", "k3", "low_var_kl"))
    estimator = asked.word("advantage-estimator", "grpo")
    in_loss, unbiased = asked.on("use-kl-loss"), asked.on("use-unbiased-kl")
    of_loss, of_reward = asked.number("kl-loss-coef", 0), asked.number("kl-coef", 0)
    group = estimator in ("grpo", "gspo", "cispo")
    form, outer = ("k3", 10.0) if kind == "low_var_kl" else (kind, None)
    place = "loss" if not unbiased else "clamped ratio" if outer else "ratio"
    if of_reward and not group:
        place = "own reward" if estimator.endswith("baseline") else "reward to go"
    scaled = CENTRED if asked.on("disable-grpo-std-normalization") else DIVIDED
    others = {"ppo": LEARNED, **dict.fromkeys(("grpo", "gspo", "cispo"), scaled)}
    answers = asked.number("rollout-batch-size", 0) * asked.number("n-samples-per-prompt", 1)
    steps = asked.number("num-steps-per-rollout", 0) or answers / asked.count("global-batch-size", 1)
    idle = asked.idle(f"under {estimator} the KL is computed and dropped", "kl-coef") if group else []
    idle += [] if in_loss else asked.idle("no --use-kl-loss", "kl-loss-coef")
    return _told(
        "slime",
        _term(place, form, None, outer),
        of_reward if of_reward and not group else of_loss * in_loss,
        advantage=others.get(estimator, f"{MIXED} ({estimator})"),
        divides_kl=of_reward and not group and asked.on("normalize-advantages"),
        reduction=TOKENS if asked.on("calculate-per-token-loss") else ANSWERS,
        updates=steps or None,
        sampler="SGLang, " + ("corrected by truncation" if asked.on("use-tis") else "not corrected"),
        inert=idle + (asked.idle("--kl-loss-coef is 0", "use-kl-loss") if of_loss == 0 else []),
        uncovered=asked.set_to("entropy-coef", "use-opsm", "use-opd", "normalize-advantages"),
        warnings=[FOLLOWS] * bool(asked.get("ref-update-interval")),
    )


def _openrlhf(asked: Asked) -> Configuration:
    form = asked.word("algo.kl.estimator", "k1", ("k1", "k2", "k3"))
    in_loss = asked.on("algo.kl.use_loss")
    estimator = asked.word("algo.advantage.estimator", "gae")
    batch = estimator in ("gae", "reinforce", "reinforce_baseline")
    batch = batch and not asked.on("algo.advantage.no_std_norm")
    weights = {"gae": LEARNED, "group_norm": DIVIDED, "rloo": CENTRED, "dr_grpo": CENTRED}
    plain = MIXED if batch else RAW if estimator == "reinforce" else CENTRED
    kind = asked.word("algo.advantage.is_correction_type", "tis")
    correction = (
        f"corrected by {kind}" if asked.on("algo.advantage.is_correction_enable") else "not corrected"
    )
    answers = asked.number("rollout.batch_size", 1024) * asked.number("rollout.n_samples_per_prompt", 1)
    parts = answers / asked.count("train.batch_size", 128)
    unset = [] if "algo.kl.init_coef" in asked else ["algo.kl.init_coef is 0.01 unless it is set"]
    return _told(
        "OpenRLHF",
        _term("loss" if in_loss else "reward to go", form, None, 10.0),
        asked.number("algo.kl.init_coef", 0.01),
        advantage=weights.get(estimator, f"{plain} ({estimator})"),
        divides_kl=batch and not in_loss,
        reduction=TOKENS,
        updates=asked.number("train.max_epochs", 1) * max(1.0, parts),
        sampler=f"vLLM, {correction}",
        uncovered=asked.set_to("actor.entropy_coef", "algo.kl.target", "actor.policy_loss_type"),
        warnings=unset,
    )


def _nemo_rl(asked: Asked) -> Configuration:
    loss, grpo = "loss_fn.", "grpo."
    form = asked.word(f"{loss}reference_policy_kl_type", "k3", ("k1", "k2", "k3"))
    approximated, in_reward = (
        asked.on(f"{loss}{of}") for of in ("use_on_policy_kl_approximation", "use_kl_in_reward")
    )
    place = "own reward" if in_reward else "clamped ratio" if approximated else "clamped score"
    coefficient = asked.number(f"{loss}reference_policy_kl_penalty", 0.01)
    estimator = asked.word(f"{grpo}adv_estimator.name", "grpo")
    divided, others = (
        asked.on(f"{grpo}adv_estimator.{of}", asked.on(f"{grpo}{of}", True))
        for of in ("normalize_rewards", "use_leave_one_out_baseline")
    )
    weights = {
        "grpo": CENTRED if not divided else OTHERS if others else DIVIDED,
        "reinforce_plus_plus": MIXED,
    }
    answers = asked.number(f"{grpo}num_prompts_per_step", 32)
    answers *= asked.number(f"{grpo}num_generations_per_prompt", 16)
    kind = asked.get(f"{loss}truncated_importance_sampling_type") or "the ratio"
    corrected = asked.on(f"{loss}use_importance_sampling_correction")
    dropped = in_reward and estimator != "reinforce_plus_plus"
    lost = f"{loss}use_kl_in_reward: under {estimator} the rewards hold no KL, and the loss holds none"
    flags = ("sequence_level_importance_ratios", "use_cispo", "positive_example_nll_weight")
    return _told(
        "NeMo-RL",
        _term(place, form, *CLAMPS),
        0.0 if dropped else coefficient,
        advantage=_known(weights, estimator),
        divides_kl=in_reward,
        reduction=TOKENS if asked.on(f"{loss}token_level_loss", True) else ANSWERS,
        updates=max(1.0, answers / asked.count("policy.train_global_batch_size", 512)),
        sampler=f"the generation engine, {f'corrected by {kind}' if corrected else 'not corrected'}",
        inert=[lost] * dropped,
        uncovered=asked.set_to(
            *(f"{loss}{of}" for of in flags),
            *(f"{grpo}{of}" for of in ("use_dynamic_sampling", "reward_shaping.enabled")),
            "defaults",
        ),
    )


def _prime_rl(asked: Asked) -> Configuration:
    algorithm = asked.word("orchestrator.algo.type", "grpo")
    kind = asked.word("trainer.loss.type", "default", ("default", "ipo", "custom"))
    teacher, tau = algorithm in ("opd", "opsd"), asked.number("trainer.loss.kl_tau", 1e-3)
    by_mean = "the group's mean subtracted, divided by it: log V truncated at order G-1 (MaxRL)"
    weights = {
        "grpo": CENTRED,
        "max_rl": by_mean,
        **dict.fromkeys(("opd", "opsd"), "none: no verdict trains"),
    }
    drift = f"{tau:g} x log(pi/sampler)^2 holds the policy to its sampler, not to a base"
    region = " the way the advantage asks" * (kind == "default")
    return _told(
        "prime-rl",
        _term("ratio, held estimate", "k1"),
        float(teacher),
        advantage=_known(weights, algorithm),
        reduction=TOKENS,
        updates=None,
        sampler=f"vLLM, by the ratio, without tokens whose probability moved too far{region}",
        uncovered=("trainer.loss.type=custom",) * (kind == "custom"),
        inert=asked.idle(f"{algorithm} has a loss of its own", "trainer.loss.kl_tau") if teacher else (),
        warnings=["ref is the teacher (of opsd, the policy itself)"] if teacher else [drift] * (tau > 0),
    )


def _skyrl(asked: Asked) -> Configuration:
    own, correction = "trainer.algorithm.", "trainer.algorithm.off_policy_correction."
    in_reward, in_loss = asked.on(f"{own}use_kl_in_reward"), asked.on(f"{own}use_kl_loss", True)
    if in_reward and in_loss:
        raise argument_error(f"{own}use_kl_in_reward", True, "False, or use_kl_loss=False: SkyRL takes one")
    form = asked.word(f"{own}kl_estimator_type", "k3", ("k1", "k2", "k3", "abs"))
    scaled = DIVIDED if asked.on(f"{own}grpo_norm_by_std", True) else CENTRED
    weights = {"grpo": scaled, "rloo": CENTRED, "gae": LEARNED, "reinforce++": MIXED}
    advantage = _known(weights, asked.word(f"{own}advantage_estimator", "grpo"))
    whitened = asked.on(f"{own}advantage_batch_normalize")
    reductions = {"sequence_mean": ANSWERS, "seq_mean_token_sum_norm": SUMS}
    reduction = reductions.get(asked.word(f"{own}loss_reduction", "token_mean"), TOKENS)
    parts = asked.number("trainer.train_batch_size", 1024) / asked.count(
        "trainer.policy_mini_batch_size", 256
    )
    rollout = asked.set_to(f"{correction}tis_ratio_type", f"{correction}sequence_mask_metric")
    apart = (
        "the KL is averaged over each answer's tokens and the policy's term is not: long answers drift more"
    )
    on = in_reward or in_loss
    coefficient = asked.number(f"{own}kl_loss_coef", 0.001)
    return _told(
        "SkyRL",
        _clamped("reward" if in_reward else "loss", form),
        coefficient * on,
        advantage=f"{advantage}; then {MIXED}" if whitened else advantage,
        divides_kl=in_reward and (whitened or advantage in (DIVIDED, MIXED)),
        reduction=reduction,
        updates=asked.number("trainer.update_epochs_per_batch", 1) * max(1.0, parts),
        sampler=f"vLLM, {' and '.join(rollout) or 'not corrected'}",
        inert=[] if on else asked.idle("no KL is on", f"{own}kl_loss_coef", f"{own}kl_estimator_type"),
        uncovered=asked.set_to(f"{own}use_entropy_loss", f"{own}policy_loss_type"),
        warnings=[apart] * (in_loss and coefficient > 0 and reduction != ANSWERS),
    )


def _areal(asked: Asked) -> Configuration:
    form = asked.word("actor.kl_estimator", "k1", ("k1", "k2", "k3"))
    levels = []
    for norm, of in (("reward_norm", "mean"), ("reward_norm", "std"), ("adv_norm", "std")):
        name, plain = f"actor.{norm}.{of}_level", "batch" if asked.holds(f"actor.{norm}.") else None
        levels.append(asked.get(name) if name in asked else plain)  # A null here is no normalisation.
    weights = {(None, None): RAW, ("group", "group"): DIVIDED, ("group", None): CENTRED}
    advantage = LEARNED if asked.holds("critic.") else weights.get((levels[0], levels[1]), MIXED)
    whitened, decoupled = levels[2] is not None, asked.on("actor.use_decoupled_loss")
    weighed = decoupled and asked.holds("actor.rejection_sampling.")
    unset = [] if "actor.kl_ctl" in asked else ["actor.kl_ctl is 0.1 unless it is set"]
    coefficient = asked.number("actor.kl_ctl", 0.1)
    found = _told(
        "AReaL",
        _term("reward to go", form, None, 10.0),
        coefficient,
        advantage=f"{advantage}; then {MIXED}" if whitened else advantage,
        divides_kl=whitened,
        reduction=TOKENS,
        updates=asked.number("actor.ppo_n_minibatches", 4),
        sampler=f"the inference engine, {'corrected by the ratio' if weighed else 'not corrected'}",
        uncovered=asked.set_to("actor.m2_threshold", "actor.use_sapo_loss", "actor.overlong_reward_penalty"),
        warnings=unset,
    )
    if coefficient == 0 or asked.holds("ref."):
        return found
    why = "no ref is set: log pi/ref is log pi, an entropy bonus that keeps nothing of the base"
    end = "all right answers alike, whatever the base gives them"
    return replace(found, law=f"none: {why}", selects=end, warnings=(*found.warnings, why))


def _tinker(asked: Asked) -> Configuration:
    discount = asked.number("kl_discount_factor", 0)
    on = asked.number("kl_penalty_coef", 0)
    partly = f"kl_discount_factor={discount:g}: between the law of each token (0) and of the answer (1)"
    return _told(
        "Tinker",
        _term("reward to go" if discount == 1 else "own reward", "k1"),
        on,
        advantage=CENTRED,
        reduction=SUMS,
        updates=asked.number("num_substeps", 1),
        sampler="Tinker, by the ratio itself" + asked.holds("async_config") * ", some steps behind",
        inert=[] if on else asked.idle("kl_penalty_coef = 0", "kl_discount_factor"),
        uncovered=(*asked.set_to("loss_fn"), *([partly] if on and discount not in (0, 1) else [])),
    )


READERS: Mapping[str, Callable[[Asked], Configuration]] = MappingProxyType(
    {
        "trl": _trl,
        "verl": _verl,
        "slime": _slime,
        "openrlhf": _openrlhf,
        "nemo-rl": _nemo_rl,
        "prime-rl": _prime_rl,
        "skyrl": _skyrl,
        "areal": _areal,
        "tinker": _tinker,
    }
)
_BEGIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "verl": ("actor_rollout_ref.", "algorithm."),
        "skyrl": ("trainer.algorithm.", "generator."),
        "prime-rl": ("orchestrator.", "trainer.loss."),
        "nemo-rl": ("loss_fn.", "grpo."),
        "openrlhf": ("algo.", "actor.policy_loss_type", "reward.", "rollout.n_samples"),
        "areal": ("actor.kl_", "actor.ppo_n", "actor.reward_norm", "actor.adv_norm", "gconfig."),
        "tinker": ("kl_penalty_coef", "kl_discount_factor", "num_substeps", "groups_per_batch"),
        "trl": ("beta", "loss_type", "num_generations", "scale_rewards", "num_iterations"),
    }
)


def _trainer_of(settings: Mapping[str, Any]) -> str | None:
    """By which names a trainer is told: what they begin with; slime's are words joined by dashes."""
    for trainer, begin in _BEGIN.items():
        if any(name.startswith(begin) for name in settings):
            return trainer
    return "slime" if any("-" in name and "." not in name for name in settings) else None


def configuration_of(
    settings: Any, trainer: str | None = None, *, version: str | None = None
) -> Configuration:
    """What these settings amount to.

    Parameters: `settings`, by their trainer's own names, nested or joined by dots, such as
    {"actor_rollout_ref.actor.use_kl_loss": True}, or a GRPOConfig; `trainer`, one of `READERS`, by
    default told by the names; `version`, of TRL, whose default KL changed. Raises ValueError where it cannot
    be told, and for values that are not allowed.
    Source: ours, theory E1 to E4, G2, G8, B6; each trainer's code at the version told.

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}).law
    'none: nothing holds the policy to the base'
    """
    if is_dataclass(settings) and not isinstance(settings, type):
        trainer = trainer or "trl"
        given = {f.name: getattr(settings, f.name) for f in fields(settings)}
        # A GRPOConfig without the flag is older than it: the KL is plain k3.
        settings = {"use_bias_correction_kl": False, **given} if trainer == "trl" else given
    asked = Asked(flat(settings))
    trainer = trainer or _trainer_of(asked)
    if trainer is None:
        few = ", ".join(list(asked)[:4])
        raise argument_error("settings", few, f"names of one of {', '.join(READERS)}; or say the trainer")
    choice("trainer", trainer, tuple(READERS))
    if version is not None and trainer != "trl":
        raise argument_error("version", version, f"none for {trainer}: it is read at one commit")
    asked.version = version
    found: Configuration = READERS[trainer](asked)
    return replace(found, warnings=(*found.warnings, *asked.misspelt()))


def end_words(found: Configuration) -> str:
    """Where it ends, in words."""
    return f"{ENDS[found.selects]} (the {found.selects})" if found.selects in ENDS else found.selects
