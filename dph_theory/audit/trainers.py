"""Which flag of which trainer descends what: KL terms by trainer, version, file and flag, and their audit.

Each is re-stated from the formula in that version's code, in the audited problems' own precision; a mean over
tokens unless it says otherwise. A commit is one at which the formula was read, clip(y, c) is y within +-c.
"""

from functools import partial

from ..support.processes import in_order
from . import AuditReport, audit
from . import catalogue_forms as forms
from .kl_terms import (
    Loss,
    absolute,
    in_reward,
    k1,
    k2,
    k3,
    plain,
    scored,
    straight_through,
    to_sampler,
    weighted,
    weighted_held_estimate,
    within,
)
from .trainer_forms import TrainerForm

_Row = tuple[str, str, Loss] | tuple[str, str, Loss, str]


def _family(trainer: str, version: str, file: str, *rows: _Row) -> tuple[TrainerForm, ...]:
    return tuple(TrainerForm(trainer, version, file, *row) for row in rows)


_LOW_VAR = within(k3, 20.0, 10.0)
_X = "x = log(pi/ref)"
_SCORE = "e^(l - sg l)"
_VERL, _NEMO = "verl/trainer/ppo/core_algos.py", "nemo_rl/algorithms/loss/loss_functions.py"
_SLIME, _OPENRLHF = "slime/utils/ppo_utils.py", "openrlhf/models/utils.py"
_PRIME, _TRL = "src/prime_rl/trainer/rl/loss.py", "trl/trainer/grpo_trainer.py"
TRAINERS: tuple[TrainerForm, ...] = (
    *_family(
        "TRL",
        "1.16",
        _TRL,
        ("use_bias_correction_kl=False (default to 1.9.1)", f"e^-x - 1 + x, {_X}", forms.k3),
        ("use_bias_correction_kl=True (default from 1.10.0)", "(pi/old) (e^-x - 1 + x)", forms.corrected_k3),
        (
            "the same, importance_sampling_level=sequence",
            "e^mean(log pi/old) (e^-x - 1 + x)",
            forms.sequence_corrected_k3,
        ),
        (
            "use_bias_correction_kl=True, vLLM's ratio not on the KL",
            f"{_SCORE} (e^-x - 1 + x), old the sampler",
            scored(k3),
            "old_policy",
        ),
    ),
    *_family(
        "verl",
        "26b5d6b2b",
        _VERL,
        ("kl_loss_type=kl, k1", f"x, {_X}", forms.k1),
        ("kl_loss_type=abs", "|x|", forms.absolute),
        ("kl_loss_type=mse, k2", "x^2/2", forms.k2),
        ("kl_loss_type=low_var_kl, k3", "clip(e^-x - 1 + x, 10), |x| <= 20", plain(_LOW_VAR)),
        ("kl_loss_type=low_var_kl, k3, later updates", "the same", plain(_LOW_VAR), "old_policy"),
        ("use_kl_in_reward, kl", "log pi(y) sg(sum_t x_t)", in_reward(k1)),
        ("use_kl_in_reward, low_var_kl", "log pi(y) sg(sum_t (e^-x - 1 + x)), clipped", in_reward(_LOW_VAR)),
    ),
    *_family(
        "verl",
        "b8dc5377c",
        _VERL,
        ("kl_loss_type=k1+", "sg(x) + x^2/2 - sg(x^2/2)", straight_through(k1)),
        ("kl_loss_type=abs+", "sg(|x|) + x^2/2 - sg(x^2/2)", straight_through(absolute)),
        (
            "kl_loss_type=low_var_kl+, k3+",
            "the clipped value, the gradient of x^2/2",
            straight_through(_LOW_VAR),
        ),
    ),
    *_family(
        "NeMo-RL",
        "2369c0aec",
        _NEMO,
        ("kl_type=k3", "clip(e^-x - 1 + x, 10), |x| <= 20", plain(_LOW_VAR)),
        (
            "kl_type=k3, use_on_policy_kl_approximation",
            "sg(pi/old) times the same",
            weighted(_LOW_VAR, held=True),
            "old_policy",
        ),
    ),
    *_family(
        "NeMo-RL",
        "33bce20d7",
        _NEMO,
        ("kl_type=k1", f"{_SCORE} clip(x, 10), l = log pi", scored(within(k1, 20.0, 10.0))),
        ("kl_type=k2", f"{_SCORE} clip(x^2/2, 10)", scored(within(k2, 20.0, 10.0))),
        ("kl_type=k3", f"{_SCORE} clip(e^-x - 1 + x, 10)", scored(_LOW_VAR)),
        (
            "kl_type=k3, use_on_policy_kl_approximation",
            "(pi/old) clip(e^-x - 1 + x, 10)",
            weighted(_LOW_VAR),
            "old_policy",
        ),
    ),
    *_family(
        "NeMo-RL",
        "2206ae11f",
        _NEMO,
        ("kl_type=k1", f"clip({_SCORE} x, 10), l = log pi", scored(k1, inner=20.0, outer=10.0)),
        ("kl_type=k2", f"clip({_SCORE} x^2/2, 10)", scored(k2, inner=20.0, outer=10.0)),
        ("kl_type=k3", f"clip({_SCORE} (e^-x - 1 + x), 10)", scored(k3, inner=20.0, outer=10.0)),
        (
            "kl_type=k3, use_on_policy_kl_approximation",
            "clip((pi/old) (e^-x - 1 + x), 10)",
            weighted(k3, inner=20.0, outer=10.0),
            "old_policy",
        ),
    ),
    *_family(
        "slime",
        "624b824a8",
        _SLIME,
        ("kl_loss_type=k1", f"x, {_X}", forms.k1),
        ("kl_loss_type=k2", "x^2/2", forms.k2),
        ("kl_loss_type=k3", "e^-x - 1 + x", forms.k3),
        ("kl_loss_type=low_var_kl", "clip(e^-x - 1 + x, 10)", plain(within(k3, None, 10.0))),
        ("k1 with importance_ratio", "(pi/old) x", weighted(k1), "old_policy"),
        ("k2 with importance_ratio", "(pi/old) x^2/2", weighted(k2), "old_policy"),
        ("k3 with importance_ratio", "(pi/old) (e^-x - 1 + x)", weighted(k3), "old_policy"),
        (
            "low_var_kl with importance_ratio",
            "clip((pi/old) (e^-x - 1 + x), 10)",
            weighted(k3, outer=10.0),
            "old_policy",
        ),
    ),
    *_family(
        "OpenRLHF",
        "3c3be6234",
        _OPENRLHF,
        ("kl_estimator=k1", "clip(x, 10)", plain(within(k1, None, 10.0))),
        ("kl_estimator=k2", "clip(x^2/2, 10)", plain(within(k2, None, 10.0))),
        ("kl_estimator=k3", "clip(e^-x - 1 + x, 10)", plain(within(k3, None, 10.0))),
    ),
    *_family(
        "open-instruct",
        "e6c3044aa",
        "open_instruct/model_utils.py",
        ("kl_estimator=0", "x, |x| <= 40", plain(within(k1, 40.0, None))),
        ("kl_estimator=1", "x^2/2, |x| <= 40", plain(within(k2, 40.0, None))),
        ("kl_estimator=2", "e^-x - 1 + x, |x| <= 40", plain(within(k3, 40.0, None))),
        ("kl_estimator=3", "(pi/old) x, |x| <= 40", weighted(within(k1, 40.0, None))),
    ),
    *_family(
        "oat",
        "c1a074c32",
        "oat/algorithms/ppo.py",
        ("beta", "e^-x - 1 + x, |x| <= 40", plain(within(k3, 40.0, None))),
        ("kl_penalty_coef", "log pi(y) sg(sum_t x_t)", in_reward(k1)),
    ),
    *_family(
        "prime-rl",
        "559b44772",
        _PRIME,
        ("kl_tau", "sum_t log(pi/old)^2, old the sampler", to_sampler, "old_policy"),
        ("ref_kl", "(pi/old) sg(x), within old - pi <= 0.2", weighted_held_estimate(k1)),
    ),
)
"""By trainer, version or commit, file and flag; what `dph audit --catalogue` opens its page with."""


def audit_trainer_form(index: int, seed: int) -> AuditReport:
    """The audit of one setting of a trainer."""
    form = TRAINERS[index]
    return audit(form.loss, samples=form.samples, name=form.name, seed=seed)


def audit_trainers(*, seed: int = 0) -> list[AuditReport]:
    """Audit every setting in two processes, in the table's order."""
    return in_order(partial(audit_trainer_form, seed=seed), range(len(TRAINERS)))
