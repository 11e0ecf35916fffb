"""Policy losses of trainers: what each descends at first and later, and where a token's slope stops.

A policy loss multiplies advantages by some function of the ratio r = pi/old. At ratio one all published ones
have the gradient of the reward; they differ in how they weigh sequences of unequal length, and off the old
policy. In the formulas A is the advantage; settings have their trainer's defaults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..losses import policy_losses as f
from ..losses.released import answer_sum, token_mean
from ..support.processes import in_order
from .exact import Loss, LossError, arguments_of, measure, random_problems
from .log_ratios import DTYPES, GRID, responses
from .loss import audit
from .quantities import match_gradient, quantities
from .report import REWARD, AuditReport, LossReport, Match, angle_words, between
from .shapes import of_answers


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


Zones = tuple[tuple[float, float], ...]


@dataclass(frozen=True, repr=False)
class PolicyReport(LossReport):
    """What is found about one policy loss.

    `on_policy` is its audit on samples of the policy, the old one. `later` and `sequence_later` compare its
    gradient with the reward's on samples of an old policy that the policy has left. `stopped_right`,
    `stopped_wrong`: the ratios pi/old without a slope, whatever pi is, of a token with advantage 1 and -1.
    `nan` pairs a dtype with the smallest |log(pi/old)| at which value or slope is nan.
    """

    loss: str
    on_policy: AuditReport
    later: Match
    sequence_later: Match
    stopped_right: Zones
    stopped_wrong: Zones
    nan: tuple[tuple[str, float], ...]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """That of its audit on the policy's samples, and how far it turns from the reward later."""
        return f"{self.on_policy.verdict}; later it is off the reward's gradient by {off_words(self.later)}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings, (name, words) each."""
        return (
            *self.on_policy.rows(),
            ("later", f"{off_words(self.later)}; several tokens: {off_words(self.sequence_later)}"),
            ("no slope, A > 0", zone_words(self.stopped_right)),
            ("no slope, A < 0", zone_words(self.stopped_wrong)),
        )


def audit_policy_loss(
    loss: Loss, *, name: str | None = None, samples: str = "policy", seed: int = 0
) -> PolicyReport:
    """What a policy loss descends at first and later, and the ratios at which a token has no slope.

    Parameters: `loss`, a torch function of any of log_pi, log_old, advantages, mask, (batch, tokens) each, to
    a scalar; `samples`, "old_policy" for one whose `log_old` is a sampler that differs from the policy from
    the start; `name`, `seed` as for `audit`. Returns a PolicyReport. Raises ValueError as `audit` does.
    Source: ours.

    >>> audit_policy_loss(lambda log_pi, advantages: -(advantages * log_pi).mean()).on_policy.gradient.name
    'minus expected reward'
    """
    names = arguments_of(loss)
    report = audit(loss, samples=samples, name=name, seed=seed)
    loss = of_answers(loss) if report.advantages == "one an answer" else loss
    return PolicyReport(
        loss=report.loss,
        on_policy=report,
        later=_later(loss, names, seed, single=True),
        sequence_later=_later(loss, names, seed, single=False),
        stopped_right=_zones(report, 1.0),
        stopped_wrong=_zones(report, -1.0),
        nan=_nan(loss, names),
    )


def _zones(report: AuditReport, advantage: float) -> Zones:
    return tuple((zone.low, zone.high) for zone in report.stopped if zone.advantage == advantage)


def _later(loss: Loss, names: tuple[str, ...], seed: int, *, single: bool) -> Match:
    """The match with the reward on samples of the old policy, of single outcomes or of sequences."""
    problems = [p for p in random_problems(seed) if (p.length == 1) == single]
    try:
        measured = [measure(loss, names, p, "old_policy") for p in problems]
    except LossError:
        return Match("failed", exact=False)
    known = [{REWARD: quantities(p, "old_policy")[REWARD]} for p in problems]
    return match_gradient(measured, known, [float(p.length) for p in problems], far=180.0)


def _nan(loss: Loss, names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = []
    for dtype in DTYPES:
        bad = np.zeros(len(GRID), dtype=bool)
        for advantage in (1.0, -1.0):
            for part in responses(loss, names, GRID, dtype, advantage=advantage):
                bad |= np.isnan(part)
        if bad.any():
            found.append((str(dtype).removeprefix("torch."), float(np.abs(GRID[bad]).min())))
    return tuple(found)


def off_words(match: Match) -> str:
    """The reward's gradient exactly, or its angle to it."""
    return "exact" if match.exact else angle_words(match.angle or 0.0) if match.name != "failed" else "-"


def zone_words(zones: Zones) -> str:
    """Such as: r >= 1.2; r <= 2.1e-09."""
    return ", ".join(between("r", low, high) for low, high in zones) or "none"


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


def audit_trainer_policy_loss(index: int, seed: int) -> PolicyReport:
    """The audit of one of them."""
    form = POLICY_LOSSES[index]
    return audit_policy_loss(form.loss, samples=form.samples, name=form.title, seed=seed)


def audit_policy_losses(*, seed: int = 0) -> list[PolicyReport]:
    """Audit every policy loss in two processes, in the table's order."""
    return in_order(partial(audit_trainer_policy_loss, seed=seed), range(len(POLICY_LOSSES)))
