"""Trainers' readers: from settings by a trainer's own names to what they amount to.

A reader has its trainer's defaults and arithmetic at the version or commit of its row in `trainers.toml`.
"""

from collections.abc import Mapping
from dataclasses import replace

from ..losses.kl_terms import KLTerm, term
from ..losses.objective import (
    ALONE,
    ANSWERS,
    BEST,
    BY_MEAN,
    CENTRED,
    DIVIDED,
    DIVIDED_BY_BATCH,
    LEARNED,
    LEFT_OUT,
    LEFT_OUT_DIVIDED,
    MIXED,
    RAW,
    REASONS,
    SUMS,
    TOKENS,
    TRL_LOSS_TYPES,
    Weight,
)
from ..support.errors import argument_error
from .configuration import Configuration, configured
from .settings import TrainerSettings

CLAMPS = (20.0, 10.0)
"""Between what verl, NeMo-RL and SkyRL clamp the log ratio, and the estimate."""
ESTIMATORS = ("k1", "k2", "k3")


def _clamped(place: str, estimator: str) -> KLTerm:
    return term(place, estimator, *(CLAMPS if estimator == "k3" else ()))


def _group(settings: TrainerSettings, name: str, default: int, *, needed: bool = False) -> int | None:
    """The answers a prompt; None for one alone. Where a group is needed, one asked for is not allowed."""
    answers = int(settings.count(name, default, at_least=2 if needed and name in settings else 1))
    return answers if answers > 1 else None


def _then_whitened(weight: Weight) -> Weight:
    """The advantages over the whole batch's deviation."""
    return Weight(f"{weight.words}; then {MIXED.words}")


def _unknown(name: str) -> Weight:
    return Weight(f"that of {name}: no weight is known")


def trl(settings: TrainerSettings) -> Configuration:
    """TRL's GRPOTrainer."""
    beta = settings.number("beta", 0)
    corrected = settings.on("use_bias_correction_kl", True)
    level = settings.word("importance_sampling_level", "token", ("token", "sequence"))
    place = "loss"
    if corrected:
        place = "answer ratio" if level == "sequence" else "ratio"
    scales = {"group": DIVIDED, "batch": DIVIDED_BY_BATCH, "none": CENTRED, "true": DIVIDED, "false": CENTRED}
    loss_type = settings.word("loss_type", "dapo", TRL_LOSS_TYPES)
    vllm = settings.on("use_vllm")
    mode = "nothing"
    if settings.on("vllm_importance_sampling_correction", True):
        modes = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
        mode = settings.word("vllm_importance_sampling_mode", "sequence_mask", modes)
    quantile = settings.number("top_entropy_quantile", 1)
    of_kl = ("use_bias_correction_kl", "sync_ref_model", "ref_model_mixup_alpha", "ref_model_sync_steps")
    return configured(
        settings,
        [(term(place), beta)],
        settings.meaning("scale_rewards", "group", scales),
        group_size=_group(settings, "num_generations", 8, needed=True),
        reduction=TRL_LOSS_TYPES[loss_type],
        updates=settings.count("num_iterations", 1) * trl_parts(settings),
        sampler=f"vLLM, corrected by {mode}" if vllm else "the policy itself",
        inert=() if beta else settings.inert("beta = 0", *of_kl),
        unpredicted=REASONS["quantile"].format(quantile) if quantile < 1 else "",
        warnings=[
            *(["vLLM's correction weighs the policy's term, not the KL"] if vllm and beta > 0 else []),
            *(["TRL logs no kl at beta = 0: it loads no reference"] if beta == 0 else []),
            "the loss that TRL logs starts at 0 or near it and says nothing of progress: the ratio is 1 and "
            "a group's advantages add up to zero; their gradient does not",
        ],
    )


def ms_swift(settings: TrainerSettings) -> Configuration:
    """The GRPO trainer of ms-swift, which subclasses TRL's."""
    beta, group = settings.number("beta", 0.04), _group(settings, "num_generations", 8, needed=True)
    estimator = settings.word("advantage_estimator", "grpo", ("grpo", "rloo", "reinforce_plus_plus"))
    in_reward = settings.on("kl_in_reward", estimator != "grpo")
    centred = LEFT_OUT if estimator == "rloo" else CENTRED
    weights = {"group": DIVIDED, "none": centred, "batch": MIXED, "gdpo": _unknown("gdpo")}
    usual = {"grpo": "group", "rloo": "none", "reinforce_plus_plus": "batch"}[estimator]
    weight = settings.meaning("scale_rewards", usual, weights)
    loss_types = ("grpo", "bnpo", "dapo", "dr_grpo", "cispo", "sapo")
    reductions = {loss_type: TRL_LOSS_TYPES[loss_type] for loss_type in loss_types}
    return configured(
        settings,
        [(term("reward", "k1") if in_reward else _clamped("loss", "k3"), beta)],
        weight,
        group_size=group,
        divides_kl=in_reward and weight in (DIVIDED, MIXED),
        reduction=settings.meaning("loss_type", "grpo", reductions),
        updates=settings.count("num_iterations", 1) * trl_parts(settings),
        sampler="vLLM, not corrected" if settings.on("use_vllm") else "the policy itself",
        inert=() if beta else settings.inert("beta = 0", "kl_in_reward"),
    )


def trl_parts(settings: TrainerSettings) -> float:
    """Into how many optimiser steps a batch of answers is split, on one process."""
    accumulated = settings.count("gradient_accumulation_steps", 1)
    batch = settings.count("per_device_train_batch_size", 8)
    answers = settings.count("generation_batch_size", 0, at_least=0)
    parts = settings.count("steps_per_generation", 0, at_least=0)
    if answers % batch:
        allowed = f"a multiple of per_device_train_batch_size = {batch:g}"
        raise argument_error("generation_batch_size", settings.get("generation_batch_size"), allowed)
    return max(1.0, (parts or answers / batch or accumulated) / accumulated)


_VERL_ESTIMATORS = {name: name for name in (*ESTIMATORS, "abs")}
_VERL_ESTIMATORS |= {"kl": "k1", "mse": "k2", "low_var_kl": "k3"}
_BY_LENGTH = Weight(
    "the mean weighed by lengths subtracted: the weight depends on lengths (arXiv:2505.23585)"
)
_BY_RIGHT = Weight(
    "the group's mean subtracted, times answers over correct answers of the batch, which couples it"
)
_TOKEN_BASELINE = Weight("a baseline of each token that makes the variance least: no weight is known")
_GREEDY = Weight(
    "the reward of the greedy answer subtracted: the same weight at every pass rate", "leave_one_out"
)


def _verl_weights(divides: bool, group: int | None) -> dict[str, Weight]:
    """The advantages of verl by estimator."""
    grouped = DIVIDED if divides else CENTRED
    return {
        "gae": LEARNED,
        "grpo": grouped if group else ALONE,
        # The flag is not handed on to it (verl pull request 7893): it divides.
        "grpo_vectorized": DIVIDED if group else ALONE,
        "grpo_passk": BEST,
        **dict.fromkeys(("rloo", "rloo_vectorized"), LEFT_OUT if group else ALONE),
        **dict.fromkeys(("reinforce_plus_plus", "reinforce_plus_plus_baseline", "gdpo"), MIXED),
        "remax": _GREEDY,
        "opo": _BY_LENGTH,
        "gpg": _BY_RIGHT,
        **dict.fromkeys(("optimal_token_baseline", "tir_optimal_token_baseline"), _TOKEN_BASELINE),
    }


def verl(settings: TrainerSettings) -> Configuration:
    """The PPO trainer of verl."""
    actor, algorithm = settings.under("actor_rollout_ref.actor."), settings.under("algorithm.")
    in_loss, in_reward = actor.on("use_kl_loss"), algorithm.on("use_kl_in_reward")
    kinds = [*_VERL_ESTIMATORS, *(f"{name}+" for name in _VERL_ESTIMATORS)]
    loss_kind = actor.word("kl_loss_type", "low_var_kl", kinds)
    reward_kind = algorithm.word("kl_penalty", "kl", kinds)
    loss_coefficient = actor.number("kl_loss_coef", 0.001)
    reward_coefficient = algorithm.number("kl_ctrl.kl_coef", 0.001)
    place = "straight through" if loss_kind.endswith("+") else "loss"
    of_loss, of_reward = (_VERL_ESTIMATORS[kind.removesuffix("+")] for kind in (loss_kind, reward_kind))
    group = _group(settings, "actor_rollout_ref.rollout.n", 1)
    divides = algorithm.on("norm_adv_by_std_in_grpo", True)
    weights = _verl_weights(divides, group)
    estimator = algorithm.word("adv_estimator", "gae", weights)
    weight = weights[estimator]
    reductions = {"token-mean": TOKENS, "seq-mean-token-sum": SUMS, "seq-mean-token-mean": ANSWERS}
    reductions["seq-mean-token-sum-norm"] = SUMS
    parts = settings.count("data.train_batch_size", 1024) / actor.count("ppo_mini_batch_size", 256)
    rollout = algorithm.assignments("rollout_correction.rollout_is", "rollout_correction.rollout_rs")
    idle = [] if in_loss else actor.inert("use_kl_loss is off", "kl_loss_coef", "kl_loss_type")
    idle += [] if in_reward else algorithm.inert("use_kl_in_reward is off", "kl_ctrl.kl_coef", "kl_penalty")
    if estimator == "grpo_vectorized" and not divides:
        idle.append("algorithm.norm_adv_by_std_in_grpo (not handed on to grpo_vectorized: it divides)")
    alone = "actor_rollout_ref.rollout.n is 1 unless it is set: no group" if weight is ALONE else ""
    return configured(
        settings,
        [
            (_clamped("reward", of_reward), reward_coefficient if in_reward else 0.0),
            (_clamped(place, of_loss), loss_coefficient if in_loss else 0.0),
        ],
        weight,
        group_size=group,
        divides_kl=in_reward and weight in (DIVIDED, MIXED),
        reduction=actor.meaning("loss_agg_mode", "token-mean", reductions),
        updates=actor.count("ppo_epochs", 1) * max(1.0, parts),
        sampler=f"the rollout engine, {' and '.join(rollout) or 'not corrected'}",
        inert=idle,
        warnings=[alone] if alone else [],
    )


def slime(settings: TrainerSettings) -> Configuration:
    """The trainer of slime."""
    kind = settings.word("kl-loss-type", "k1", (*ESTIMATORS, "low_var_kl"))
    scaled = CENTRED if settings.on("disable-grpo-std-normalization") else DIVIDED
    grouped, whitened = ("grpo", "gspo", "cispo"), ("reinforce_plus_plus", "reinforce_plus_plus_baseline")
    weights = {**dict.fromkeys(grouped, scaled), "ppo": LEARNED}
    weights |= {name: Weight(f"{MIXED.words} ({name})") for name in whitened}
    estimator = settings.word("advantage-estimator", "grpo", weights)
    in_loss, unbiased = settings.on("use-kl-loss"), settings.on("use-unbiased-kl")
    loss_coefficient, reward_coefficient = settings.number("kl-loss-coef", 0), settings.number("kl-coef", 0)
    group = estimator in grouped
    form, outer = ("k3", 10.0) if kind == "low_var_kl" else (kind, None)
    in_reward = bool(reward_coefficient) and not group
    place = "loss"
    if unbiased:
        place = "clamped ratio" if outer else "ratio"
    to_go = "own reward" if estimator.endswith("baseline") else "reward to go"
    prompts = settings.count("rollout-batch-size", 0, at_least=0)
    size = _group(settings, "n-samples-per-prompt", 1, needed=group)
    steps = settings.count("num-steps-per-rollout", 0, at_least=0)
    steps = steps or prompts * (size or 1) / settings.count("global-batch-size", 1)
    idle = settings.inert(f"under {estimator} the KL is computed and dropped", "kl-coef") if group else []
    idle += [] if in_loss else settings.inert("no --use-kl-loss", "kl-loss-coef")
    idle += [] if loss_coefficient else settings.inert("--kl-loss-coef is 0", "use-kl-loss")
    normalized = settings.on("normalize-advantages")
    return configured(
        settings,
        [
            (term(to_go, form, None, outer), reward_coefficient if in_reward else 0.0),
            (term(place, form, None, outer), loss_coefficient if in_loss else 0.0),
        ],
        MIXED if normalized and group else weights[estimator],
        group_size=size,
        divides_kl=in_reward and normalized,
        reduction=TOKENS if settings.on("calculate-per-token-loss") else ANSWERS,
        updates=steps or None,
        sampler="SGLang, " + ("corrected by truncation" if settings.on("use-tis") else "not corrected"),
        inert=idle,
    )


def openrlhf(settings: TrainerSettings) -> Configuration:
    """The PPO trainer of OpenRLHF."""
    kl, advantage = settings.under("algo.kl."), settings.under("algo.advantage.")
    form = kl.word("estimator", "k1", ESTIMATORS)
    in_loss, unbiased = kl.on("use_loss"), kl.on("unbiased_gradient")
    estimators = ("gae", "reinforce", "reinforce_baseline", "rloo", "group_norm", "dr_grpo")
    estimator = advantage.word("estimator", "gae", estimators)
    batch = not advantage.on("no_std_norm") and estimator in ("gae", "reinforce", "reinforce_baseline")
    weights = {"gae": LEARNED, "group_norm": DIVIDED, "rloo": LEFT_OUT, "dr_grpo": CENTRED}
    fallback = RAW if estimator == "reinforce" else CENTRED
    if batch:
        fallback = MIXED
    weight = weights.get(estimator, fallback._replace(words=f"{fallback.words} ({estimator})"))
    kind = advantage.word("is_correction_type", "tis", ("tis", "icepop", "seq-mask-tis"))
    corrected = advantage.on("is_correction_enable")
    needed = estimator in ("rloo", "group_norm", "dr_grpo")
    group = _group(settings, "rollout.n_samples_per_prompt", 1, needed=needed)
    answers = settings.count("rollout.batch_size", 1024) * (group or 1)
    parts = answers / settings.count("train.batch_size", 128)
    unset = [] if "init_coef" in kl else ["algo.kl.init_coef is 0.01 unless it is set"]
    place = "reward to go"
    if in_loss:
        place = "straight through" if unbiased else "loss"
    return configured(
        settings,
        [(term(place, form, None, 10.0), kl.number("init_coef", 0.01))],
        weight,
        group_size=group,
        divides_kl=batch and not in_loss,
        reduction=TOKENS,
        updates=settings.count("train.max_epochs", 1) * max(1.0, parts),
        sampler=f"vLLM, {f'corrected by {kind}' if corrected else 'not corrected'}",
        inert=[] if in_loss else kl.inert("no algo.kl.use_loss", "unbiased_gradient"),
        warnings=unset,
    )


def nemo_rl(settings: TrainerSettings) -> Configuration:
    """GRPO in NeMo-RL."""
    loss, grpo = settings.under("loss_fn."), settings.under("grpo.")
    form = loss.word("reference_policy_kl_type", "k3", ESTIMATORS)
    approximated, in_reward = loss.on("use_on_policy_kl_approximation"), loss.on("use_kl_in_reward")
    if settings.on("(weighed by its score)", True):  # By version: no setting has that name.
        place = "clamped ratio" if approximated else "clamped score"
    else:
        place = "held ratio" if approximated else "loss"
    if in_reward:
        place = "own reward"
    coefficient = loss.number("reference_policy_kl_penalty", 0.01)
    flags = ("normalize_rewards", "use_leave_one_out_baseline")
    divided, left_out = (grpo.on(f"adv_estimator.{name}", grpo.on(name, True)) for name in flags)
    grouped = LEFT_OUT_DIVIDED if left_out else DIVIDED
    if not divided:
        grouped = LEFT_OUT if left_out else CENTRED
    weights = {"grpo": grouped, "reinforce_plus_plus": MIXED, "gdpo": _unknown("gdpo")}
    estimator = grpo.word("adv_estimator.name", "grpo", weights)
    group = _group(grpo, "num_generations_per_prompt", 16, needed=True)
    answers = grpo.count("num_prompts_per_step", 32) * (group or 1)
    kind = loss.get("truncated_importance_sampling_type") or "the ratio"
    corrected = loss.on("use_importance_sampling_correction")
    dropped = in_reward and estimator != "reinforce_plus_plus"
    lost = f"loss_fn.use_kl_in_reward: under {estimator} the rewards hold no KL, and the loss holds none"
    return configured(
        settings,
        [(term(place, form, *CLAMPS), 0.0 if dropped else coefficient)],
        weights[estimator],
        group_size=group,
        divides_kl=in_reward,
        reduction=TOKENS if loss.on("token_level_loss", True) else ANSWERS,
        updates=max(1.0, answers / settings.count("policy.train_global_batch_size", 512)),
        sampler=f"the generation engine, {f'corrected by {kind}' if corrected else 'not corrected'}",
        inert=[lost] if dropped else [],
    )


def prime_rl(settings: TrainerSettings) -> Configuration:
    """The trainer of prime-rl."""
    orchestrator, loss = settings.under("orchestrator."), settings.under("trainer.loss.")
    teachers, unknown = ("opd", "opsd"), ("echo", "rae", "hierarchical_grpo", "debug")
    weights = {"grpo": CENTRED, "max_rl": BY_MEAN}
    weights |= dict.fromkeys((*teachers, "sft"), Weight("none: no reward trains"))
    weights |= {name: _unknown(name) for name in unknown}
    algorithm = orchestrator.word("algo.type", "grpo", weights)
    kind = loss.word("type", "default", ("default", "ipo", "custom"))
    teacher, tau = algorithm in teachers, loss.number("kl_tau", 1e-3)
    region = " the way the advantage asks" if kind == "default" else ""
    warnings = []
    if teacher:
        warnings = ["ref is the teacher (of opsd, the policy itself)"]
    elif tau > 0:
        warnings = [f"{tau:g} x log(pi/sampler)^2 constrains the policy to its sampler, not to a base"]
    return configured(
        settings,
        [(term("ratio, held estimate", "k1"), float(teacher))],
        weights[algorithm],
        group_size=_group(orchestrator, "group_size", 1) or _group(orchestrator, "rollouts_per_example", 1),
        reduction=TOKENS,
        updates=None,
        sampler=f"vLLM, by the ratio, without tokens whose probability moved too far{region}",
        not_read=("trainer.loss.type=custom",) if kind == "custom" else (),
        inert=loss.inert(f"{algorithm} has a loss of its own", "kl_tau") if teacher else (),
        warnings=warnings,
    )


def skyrl(settings: TrainerSettings) -> Configuration:
    """The trainer of SkyRL."""
    trainer, own = settings.under("trainer."), settings.under("trainer.algorithm.")
    in_reward, in_loss = own.on("use_kl_in_reward"), own.on("use_kl_loss", True)
    if in_reward and in_loss:
        allowed = "False, or use_kl_loss=False: SkyRL takes one"
        raise argument_error(own.prefix + "use_kl_in_reward", True, allowed)
    form = own.word("kl_estimator_type", "k3", (*ESTIMATORS, "abs"))
    scaled = DIVIDED if own.on("grpo_norm_by_std", True) else CENTRED
    weights = {"grpo": scaled, "rloo": LEFT_OUT, "gae": LEARNED, "reinforce++": MIXED}
    weight = own.meaning("advantage_estimator", "grpo", weights)
    whitened = own.on("advantage_batch_normalize")
    reductions = {
        "token_mean": TOKENS,
        "token_mean_legacy": TOKENS,
        "sequence_mean": ANSWERS,
        "seq_mean_token_sum_norm": SUMS,
    }
    reduction = own.meaning("loss_reduction", "token_mean", reductions)
    parts = trainer.count("train_batch_size", 1024) / trainer.count("policy_mini_batch_size", 256)
    correction = own.under("trainer.algorithm.off_policy_correction.")
    rollout = correction.assignments("tis_ratio_type", "sequence_mask_metric")
    lengths = (
        "the KL is averaged over each answer's tokens and the policy's term is not: long answers drift more"
    )
    on = in_reward or in_loss
    coefficient = own.number("kl_loss_coef", 0.001)
    return configured(
        settings,
        [(_clamped("reward" if in_reward else "loss", form), coefficient if on else 0.0)],
        _then_whitened(weight) if whitened else weight,
        group_size=_group(settings, "generator.n_samples_per_prompt", 5),
        divides_kl=in_reward and (whitened or weight in (DIVIDED, MIXED)),
        reduction=reduction,
        updates=trainer.count("update_epochs_per_batch", 1) * max(1.0, parts),
        sampler=f"vLLM, {' and '.join(rollout) or 'not corrected'}",
        inert=[] if on else own.inert("no KL is on", "kl_loss_coef", "kl_estimator_type"),
        warnings=[lengths] if in_loss and coefficient > 0 and reduction != ANSWERS else [],
    )


def _level(actor: TrainerSettings, norm: str, statistic: str) -> str | None:
    """Over what AReaL normalises, "batch" or "group"; a null in the settings is no normalisation."""
    name, levels = f"{norm}.{statistic}_level", ("batch", "group", "none", "null")
    if name in actor and actor.get(name) is None:
        return None
    level = actor.word(name, "batch" if actor.holds(f"{norm}.") else "none", levels)
    return level if level in ("batch", "group") else None


def areal(settings: TrainerSettings) -> Configuration:
    """The PPO trainer of AReaL."""
    actor = settings.under("actor.")
    form = actor.word("kl_estimator", "k1", ESTIMATORS)
    level = tuple(_level(actor, "reward_norm", statistic) for statistic in ("mean", "std"))
    whitened, decoupled = _level(actor, "adv_norm", "std") is not None, actor.on("use_decoupled_loss")
    left_out = actor.on("reward_norm.mean_leave1out")
    weights: Mapping[tuple[str | None, ...], Weight] = {
        (None, None): RAW,
        ("group", "group"): LEFT_OUT_DIVIDED if left_out else DIVIDED,
        ("group", None): LEFT_OUT if left_out else CENTRED,
    }
    weight = LEARNED if settings.holds("critic.") else weights.get(level, MIXED)
    weighed = decoupled and actor.holds("rejection_sampling.")
    unset = [] if "kl_ctl" in actor else ["actor.kl_ctl is 0.1 unless it is set"]
    coefficient = actor.number("kl_ctl", 0.1)
    shifted = ("reward_scaling", "reward_bias")
    idle = actor.inert("rewards are normalised by their group", *shifted) if all(level) else []
    run = configured(
        settings,
        [(term("reward to go", form, None, 10.0), coefficient)],
        _then_whitened(weight) if whitened else weight,
        group_size=_group(settings, "gconfig.n_samples", 1),
        divides_kl=whitened,
        reduction=TOKENS,
        updates=actor.count("ppo_n_minibatches", 4),
        sampler=f"the inference engine, {'corrected by the ratio' if weighed else 'not corrected'}",
        inert=idle,
        warnings=unset,
    )
    if coefficient == 0 or settings.holds("ref."):
        return run
    why = "no ref is set: log pi/ref is log pi, an entropy bonus that keeps nothing of the base"
    end = "all correct answers alike, whatever the base gives them"
    warnings = (*run.warnings, why)
    entropy = replace(run, stationary_kl=f"none: {why}", selects=end, warnings=warnings)
    return entropy.with_objective(unpredicted=why)


def tinker(settings: TrainerSettings) -> Configuration:
    """The recipes of the Tinker cookbook."""
    discount, coefficient = settings.number("kl_discount_factor", 0), settings.number("kl_penalty_coef", 0)
    between = ""
    if coefficient and discount not in (0, 1):
        between = f"kl_discount_factor={discount:g}: between a KL per token (0) and of the answer (1)"
    lag = ", some steps behind" if settings.holds("async_config") else ""
    return configured(
        settings,
        [(term("reward to go" if discount == 1 else "own reward", "k1"), coefficient)],
        CENTRED,
        group_size=_group(settings, "group_size", 1),
        reduction=SUMS,
        updates=settings.count("num_substeps", 1),
        sampler=f"Tinker, by the ratio itself{lag}",
        inert=[] if coefficient else settings.inert("kl_penalty_coef = 0", "kl_discount_factor"),
        warnings=[between] if between else [],
        unpredicted=between,
    )
