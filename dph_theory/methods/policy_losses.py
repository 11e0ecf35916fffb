"""Trainers' policy losses by version (or commit), file and setting: the one table that audits and docs read.

In the formulas r = pi/old of a token, A its advantage, sg holds its argument fixed; settings have their
trainer's defaults.
"""

from dataclasses import dataclass, field

from ..losses import policy_losses as f
from ..losses.released import Loss, answer_sum, token_mean


@dataclass(frozen=True)
class PolicyForm:
    """A trainer's policy loss by version (or commit), file and setting, and the samples it is audited on."""

    trainer: str
    version: str
    file: str
    flags: str
    formula: str
    loss: Loss = field(compare=False)
    samples: str = "policy"

    @property
    def title(self) -> str:
        """The trainer, its version and the setting."""
        return f"{self.trainer} {self.version}, {self.flags}"


_Row = tuple[str, str, f.Surrogate, f.Reduce]


def _family(
    trainer: str, version: str, file: str, *rows: _Row, samples: str = "policy"
) -> tuple[PolicyForm, ...]:
    return tuple(
        PolicyForm(trainer, version, file, flag, formula, f.policy_loss(surrogate, reduce), samples)
        for flag, formula, surrogate, reduce in rows
    )


def _corrected(flag: str, weighed: str, weight: f.Weight, reduce: f.Reduce = token_mean) -> _Row:
    """The clipped loss, its samples corrected; w = sg(pi)/sampler."""
    return flag, f"{_CLIP} {weighed}", f.corrected_for_the_sampler(f.clipped(), weight), reduce


_CLIP, _DUAL = "min(r A, clip(r, .8, 1.2) A)", "min(r A, clip(r, .8, 1.2) A), >= 3 A if A < 0"
_GATE, _CISPO = "4/t sigmoid(t (r - 1)) A, t = 1, 1.05", "sg(clip(r, .8, 1.2)) A log pi"
_OF_SEQUENCE = "the same, r of the sequence"
_OF_MEAN = f.kept_within(0.5, 2.0, of="mean")
_OF_ANSWER = f.kept_within(0.0, 3.0, of="sequence")
_ASKED = "sg(min(r, 3)) A log pi, 0 if pi - old > .2 and A > 0 or < -.2 and A <= 0"
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
        ("loss_type=luspo, importance_sampling_level=sequence", _OF_SEQUENCE, _SEQUENCE, answer_sum),
        ("loss_type=cispo", "sg(min(r, .2)) A log pi", f.held_ratio(None, 0.2), token_mean),
        ("loss_type=cispo, epsilon_high=5", "sg(min(r, 5)) A log pi", f.held_ratio(None, 5.0), token_mean),
        ("loss_type=sapo", _GATE, f.soft_gate(1.0, 1.05), f.sequence_mean),
        ("loss_type=vespo", "sg(w^k e^(l(1-w))) A log pi, w = prod r", f.gamma_weight, token_mean),
    ),
    _family(
        "TRL",
        "1.16",
        "trl/trainer/grpo_trainer.py",
        _corrected("use_vllm, mode sequence_mask (default)", "W, 0 if W > 3, W = prod w", _OF_ANSWER),
        _corrected("use_vllm, mode token_truncate", "min(w, 3)", f.truncated(3.0)),
        (
            "off_policy_mask_threshold=.5",
            f"{_CLIP}, 0 if A < 0 and mean log(old/pi) > .5",
            f.without_far_failures(f.clipped(), 0.5),
            token_mean,
        ),
        samples="old_policy",
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
    ("loss_mode=dppo_tv", _ASKED, f.probability_region(0.2, binary_kl=False), token_mean),
    (
        "loss_mode=dppo_kl",
        "the same, by the token's binary KL above .2 that way",
        f.probability_region(0.2, binary_kl=True),
        token_mean,
    ),
    ("loss_mode=dro, dro_beta=.1", "A log pi - .05 (log r)^2", f.quadratic(0.1), token_mean),
) + _family(
    "verl",
    "1dda039b9",
    "verl/trainer/ppo/rollout_corr_helper.py",
    _corrected("rollout_correction.rollout_is=token", "min(w, 2)", f.truncated(2.0)),
    samples="old_policy",
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
        "NeMo-RL",
        "7ea279abf",
        "nemo_rl/algorithms/loss/loss_functions.py",
        _corrected("use_importance_sampling_correction", "w", f.truncated(1e30)),
        _corrected("the same, icepop, .5 to 5", "w, 0 outside", f.kept_within(0.5, 5.0)),
        _corrected("the same, seq-mask-tis, .5 to 2", "w, 0 if W^(1/T) outside", _OF_MEAN),
        samples="old_policy",
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
        "slime",
        "624b824a8",
        "slime/utils/ppo_utils.py, slime/backends/megatron_utils/loss.py",
        _corrected("use_tis", "min(w, 2)", f.truncated(2.0), f.sequence_mean),
        (
            "use_opsm, opsm_delta=1e-4",
            f"{_CLIP}, 0 if A < 0 and mean log(old/pi) > 1e-4",
            f.without_far_failures(f.clipped(), 1e-4),
            f.sequence_mean,
        ),
        samples="old_policy",
    ),
    _family(
        "OpenRLHF",
        "3c3be6234",
        "openrlhf/models/loss.py",
        ("actor.policy_loss_type=ppo", _CLIP, f.clipped(inner=20.0), token_mean),
        ("actor.policy_loss_type=gspo", _OF_SEQUENCE, _SEQUENCE, f.sequence_mean),
    ),
    _family(
        "OpenRLHF",
        "3c3be6234",
        "openrlhf/models/loss.py",
        _corrected("is_correction_type=tis, .5 to 5", "clip(w, .5, 5)", f.truncated(5.0, 0.5)),
        samples="old_policy",
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
        (
            "default",
            "r A, 0 if pi - old > .2 and A > 0 or < -.2 and A <= 0; - .001 (log r)^2",
            f.masked_ratio(0.2, 1e-3),
            f.total,
        ),
        (
            "ipo",
            "r A, 0 if |pi - old| > .1; - .001 (log r)^2",
            f.masked_ratio(0.1, 1e-3, both_ways=True),
            f.total,
        ),
    ),
)
_SAME = (
    _family(
        "SkyRL",
        "a9564572e",
        "skyrl/backends/skyrl_train/utils/ppo_utils.py",
        ("policy_loss_type=regular (default)", _CLIP, f.clipped(), token_mean),
        ("policy_loss_type=dual_clip", _DUAL, f.clipped(dual=3.0), token_mean),
    ),
    _family(
        "AReaL",
        "4aef98d8d",
        "areal/utils/functional/functional.py",
        ("default", _CLIP, f.clipped(), token_mean),
    ),
    _family(
        "Tinker",
        "9dfcc3a2e",
        "tinker_cookbook/rl/train.py",
        ("loss_fn=importance_sampling (default)", "r A", f.clipped(1.0, 1e30), f.total),
    ),
)
POLICY_LOSSES: tuple[PolicyForm, ...] = tuple(
    form for family in (*_TRL, _VERL, *_OTHERS, *_SAME) for form in family
)
"""By trainer, version or commit, file and setting."""
