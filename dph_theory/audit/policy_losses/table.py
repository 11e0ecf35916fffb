"""The policy losses of trainers by version or commit, file and setting, with the settings' defaults.

In the formulas r = pi/old, A is the advantage.
"""

from functools import partial

from ...support.processes import in_order
from ..kl_terms import sequence_sum, token_mean
from ..trainer_forms import TrainerForm
from . import forms as f
from .report import PolicyReport, audit_policy_loss

_Row = tuple[str, str, f.Surrogate, f.Reduce]


def _family(trainer: str, version: str, file: str, *rows: _Row) -> tuple[TrainerForm, ...]:
    return tuple(
        TrainerForm(trainer, version, file, flag, formula, f.policy_loss(surrogate, reduce))
        for flag, formula, surrogate, reduce in rows
    )


_CLIP, _DUAL = "min(r A, clip(r, .8, 1.2) A)", "min(r A, clip(r, .8, 1.2) A), >= 3 A if A < 0"
_GATE, _CISPO = "4/t sigmoid(t (r - 1)) A, t = 1, 1.05", "sg(clip(r, .8, 1.2)) A log pi"
_OF_SEQUENCE = "the same, r of the sequence"
_SEQUENCE = f.clipped(log_ratio=f.sequence_log_ratio)
_HELD_SEQUENCE = f.clipped(log_ratio=f.held_sequence_log_ratio)
_TRL = (
    _family(
        "TRL",
        "1.16",
        "trl/trainer/grpo_trainer.py",
        ("loss_type=dapo (default)", _CLIP, f.clipped(), token_mean),
        ("loss_type=bnpo", _CLIP, f.clipped(), token_mean),
        ("loss_type=grpo", _CLIP, f.clipped(), f.sequence_mean),
        ("loss_type=dr_grpo, max_completion_length=4", _CLIP, f.clipped(), f.over_length(4)),
        (
            "loss_type=grpo, delta=4",
            "min(min(r, 4) A, clip(r, .8, 1.2) A)",
            f.clipped(delta=4),
            f.sequence_mean,
        ),
        ("loss_type=grpo, importance_sampling_level=sequence", _OF_SEQUENCE, _SEQUENCE, f.sequence_mean),
        ("loss_type=luspo, importance_sampling_level=sequence", _OF_SEQUENCE, _SEQUENCE, sequence_sum),
        ("loss_type=cispo", "sg(min(r, .2)) A log pi", f.held_ratio(None, 0.2), token_mean),
        ("loss_type=cispo, epsilon_high=5", "sg(min(r, 5)) A log pi", f.held_ratio(None, 5.0), token_mean),
        ("loss_type=sapo", _GATE, f.soft_gate(1.0, 1.05), f.sequence_mean),
        ("loss_type=vespo", "sg(w^k e^(l(1-w))) A log pi, w = prod r", f.gamma_weight, token_mean),
    ),
    (
        TrainerForm(
            "TRL",
            "1.16",
            "trl/trainer/grpo_trainer.py",
            "loss_type=bnpo, vllm_importance_sampling_mode=token_truncate",
            f"{_CLIP} min(sg(pi)/sampler, 3)",
            f.policy_loss(f.corrected_for_the_sampler(f.clipped(), 3.0)),
            "old_policy",
        ),
    ),
)
_VERL = _family(
    "verl",
    "1dda039b9",
    "verl/trainer/ppo/core_algos.py",
    ("loss_mode=vanilla", _DUAL, f.clipped(inner=20.0, dual=3.0), token_mean),
    ("loss_mode=gpg", "A log pi", f.reinforce, token_mean),
    ("loss_mode=gspo", "r of the sequence, slope of the token", _HELD_SEQUENCE, f.sequence_mean),
    ("loss_mode=geo_mean", "A e^(mean of clip(log r, +-.2))", f.geometric_mean, f.sequence_mean),
    ("loss_mode=cispo", _CISPO, f.held_ratio(0.8, 1.2, 20.0), token_mean),
    ("loss_mode=sapo", _GATE, f.soft_gate(1.0, 1.05, 20.0), f.sequence_mean),
    ("loss_mode=kl_cov", "r A - .1 |log r| at the largest covariance", f.penalised_covariance(), token_mean),
    ("loss_mode=clip_cov", f"{_CLIP}, 0 where drawn", f.clipped_covariance(), token_mean),
    (
        "loss_mode=dppo_tv",
        "sg(min(r, 3)) A log pi if |pi - old| <= .2",
        f.probability_region(0.2, binary_kl=False),
        token_mean,
    ),
    (
        "loss_mode=dppo_kl",
        "the same if the token's binary KL <= .2",
        f.probability_region(0.2, binary_kl=True),
        token_mean,
    ),
    ("loss_mode=dro, dro_beta=.1", "A log pi - .05 (log r)^2", f.quadratic(0.1), token_mean),
)
_OTHERS = (
    _family(
        "NeMo-RL",
        "7ea279abf",
        "nemo_rl/algorithms/loss/loss_functions.py",
        ("ClippedPGLoss", _CLIP, f.clipped(), token_mean),
        ("ClippedPGLoss, ratio_clip_c=3", _DUAL, f.clipped(dual=3.0), token_mean),
        ("disable_ppo_ratio", "A log pi", f.reinforce, token_mean),
        ("use_cispo", _CISPO, f.held_ratio(0.8, 1.2), token_mean),
    ),
    _family(
        "slime",
        "624b824a8",
        "slime/utils/ppo_utils.py",
        ("compute_policy_loss", _CLIP, f.clipped(), f.sequence_mean),
        ("compute_policy_loss, eps_clip_c=3", _DUAL, f.clipped(dual=3.0), f.sequence_mean),
        (
            "compute_cispo_loss, eps_clip=1, eps_clip_high=4",
            "sg(min(r, 5)) A log pi",
            f.held_ratio(0.0, 5.0),
            f.sequence_mean,
        ),
    ),
    _family(
        "OpenRLHF",
        "3c3be6234",
        "openrlhf/models/loss.py",
        ("policy_loss_type=ppo", _CLIP, f.clipped(inner=20.0), token_mean),
        ("policy_loss_type=gspo", _OF_SEQUENCE, _SEQUENCE, f.sequence_mean),
    ),
    _family(
        "open-instruct",
        "e6c3044aa",
        "open_instruct/grpo_utils.py",
        ("loss_fn=dapo", "min(r A, clip(r, .8, 1.272) A)", f.clipped(0.2, 0.272), token_mean),
        ("loss_fn=cispo", "sg(min(r, 1.272)) A log pi", f.held_ratio(None, 1.272), token_mean),
    ),
    _family(
        "oat",
        "c1a074c32",
        "oat/algorithms/ppo.py",
        ("cliprange", _CLIP, f.clipped(), f.sequence_mean),
        ("reinforce_update", "A log pi", f.reinforce, f.sequence_mean),
    ),
    _family(
        "prime-rl",
        "559b44772",
        "src/prime_rl/trainer/rl/loss.py",
        ("default", "r A if |pi - old| <= .2, - .001 (log r)^2", f.masked_ratio(0.2, 1e-3), f.total),
        ("ipo", "the same, .1 both ways", f.masked_ratio(0.1, 1e-3, both_ways=True), f.total),
    ),
)
POLICY_LOSSES: tuple[TrainerForm, ...] = tuple(form for family in (*_TRL, _VERL, *_OTHERS) for form in family)
"""By trainer, version or commit, file and setting."""


def audit_row(index: int, seed: int) -> PolicyReport:
    """The audit of one of them."""
    form = POLICY_LOSSES[index]
    return audit_policy_loss(form.loss, samples=form.samples, name=form.name, seed=seed)


def audit_policy_losses(*, seed: int = 0) -> list[PolicyReport]:
    """Audit every policy loss in two processes, in the table's order."""
    return in_order(partial(audit_row, seed=seed), range(len(POLICY_LOSSES)))
