"""Which flag of which trainer descends what: KL terms by trainer, version, file and flag, and their audit.

Each is re-stated from the formula in that version's code, in the audited problems' own precision; a mean over
tokens unless it says otherwise. "After" a commit: read in a later version of the file, whose commit is not
known.
"""

from dataclasses import dataclass, field
from functools import partial

from ..support.processes import run_jobs
from . import AuditReport, audit
from . import catalogue_forms as forms
from .trainer_forms import (
    in_reward,
    k1,
    k2,
    k3,
    plain,
    scored,
    straight_through,
    to_sampler,
    weighted,
    within,
)


@dataclass(frozen=True)
class TrainerForm:
    """A setting of a trainer at a version (or commit), in a file, on the samples that it is used with."""

    trainer: str
    version: str
    file: str
    flag: str
    formula: str
    samples: str
    loss: forms.Loss = field(compare=False)

    @property
    def name(self) -> str:
        """The trainer, its version and the flag."""
        return f"{self.trainer} {self.version}, {self.flag}"


def _family(
    trainer: str, version: str, file: str, rows: tuple[tuple[str, str, str, forms.Loss], ...]
) -> tuple[TrainerForm, ...]:
    return tuple(TrainerForm(trainer, version, file, *row) for row in rows)


_LOW_VAR = within(k3, 20.0, 10.0)
_X = "x = log(pi/ref)"
TRAINERS: tuple[TrainerForm, ...] = (
    *_family(
        "TRL",
        "1.16",
        "trl/trainer/grpo_trainer.py",
        (
            ("use_bias_correction_kl=False", f"e^-x - 1 + x, {_X}", "policy", forms.k3),
            (
                "use_bias_correction_kl=True (default)",
                "(pi/old) (e^-x - 1 + x)",
                "policy",
                forms.corrected_k3,
            ),
            (
                "the same, importance_sampling_level=sequence",
                "e^mean(log pi/old) (e^-x - 1 + x)",
                "policy",
                forms.sequence_corrected_k3,
            ),
        ),
    ),
    *_family(
        "verl",
        "26b5d6b",
        "verl/trainer/ppo/core_algos.py",
        (
            ("kl_loss_type=kl", f"x, {_X}", "policy", forms.k1),
            ("kl_loss_type=abs", "|x|", "policy", forms.absolute),
            ("kl_loss_type=mse", "x^2/2", "policy", forms.k2),
            ("kl_loss_type=low_var_kl", "clip(e^-x - 1 + x, +-10), |x| <= 20", "policy", plain(_LOW_VAR)),
            ("kl_loss_type=low_var_kl, later updates", "the same", "old_policy", plain(_LOW_VAR)),
            ("use_kl_in_reward, kl", "log pi(y) sg(sum_t x_t)", "policy", in_reward(k1)),
            (
                "use_kl_in_reward, low_var_kl",
                "log pi(y) sg(sum_t (e^-x - 1 + x)), clipped",
                "policy",
                in_reward(_LOW_VAR),
            ),
        ),
    ),
    *_family(
        "verl",
        "after 26b5d6b",
        "verl/trainer/ppo/core_algos.py",
        (
            ("kl_loss_type=k1+", "sg(x) + x^2/2 - sg(x^2/2)", "policy", straight_through(k1)),
            (
                "kl_loss_type=low_var_kl+",
                "the clipped value, the gradient of x^2/2",
                "policy",
                straight_through(_LOW_VAR),
            ),
        ),
    ),
    *_family(
        "NeMo-RL",
        "3520fc0",
        "nemo_rl/algorithms/loss/loss_functions.py",
        (
            ("kl_type=k3", "clip(e^-x - 1 + x, +-10), |x| <= 20", "policy", plain(_LOW_VAR)),
            (
                "kl_type=k3, use_on_policy_kl_approximation",
                "sg(pi/old) times the same",
                "old_policy",
                weighted(_LOW_VAR, held=True),
            ),
        ),
    ),
    *_family(
        "NeMo-RL",
        "after 3520fc0",
        "nemo_rl/algorithms/loss/loss_functions.py",
        (
            (
                "kl_type=k1",
                "e^(l - sg l) clip(x, +-10), l = log pi",
                "policy",
                scored(within(k1, 20.0, 10.0)),
            ),
            ("kl_type=k2", "e^(l - sg l) clip(x^2/2, 10)", "policy", scored(within(k2, 20.0, 10.0))),
            ("kl_type=k3", "e^(l - sg l) clip(e^-x - 1 + x, 10)", "policy", scored(_LOW_VAR)),
            (
                "kl_type=k3, use_on_policy_kl_approximation",
                "(pi/old) clip(e^-x - 1 + x, 10)",
                "old_policy",
                weighted(_LOW_VAR),
            ),
        ),
    ),
    *_family(
        "slime",
        "06787cf",
        "slime/utils/ppo_utils.py",
        (
            ("kl_loss_type=k1", f"x, {_X}", "policy", forms.k1),
            ("kl_loss_type=low_var_kl", "clip(e^-x - 1 + x, +-10)", "policy", plain(within(k3, None, 10.0))),
            ("k1 with importance_ratio", "(pi/old) x", "old_policy", weighted(k1)),
            ("k2 with importance_ratio", "(pi/old) x^2/2", "old_policy", weighted(k2)),
            (
                "low_var_kl with importance_ratio",
                "clip((pi/old) (e^-x - 1 + x), +-10)",
                "old_policy",
                weighted(k3, outer=10.0),
            ),
        ),
    ),
    *_family(
        "OpenRLHF",
        "473f61b",
        "openrlhf/models/utils.py",
        (
            ("kl_estimator=k1", "clip(x, +-10)", "policy", plain(within(k1, None, 10.0))),
            ("kl_estimator=k2", "clip(x^2/2, 10)", "policy", plain(within(k2, None, 10.0))),
            ("kl_estimator=k3", "clip(e^-x - 1 + x, 10)", "policy", plain(within(k3, None, 10.0))),
        ),
    ),
    *_family(
        "open-instruct",
        "after ebae1d1",
        "open_instruct/model_utils.py",
        (
            ("kl_estimator=0", "x, |x| <= 40", "policy", plain(within(k1, 40.0, None))),
            ("kl_estimator=1", "x^2/2, |x| <= 40", "policy", plain(within(k2, 40.0, None))),
            ("kl_estimator=2", "e^-x - 1 + x, |x| <= 40", "policy", plain(within(k3, 40.0, None))),
            ("kl_estimator=3", "(pi/old) x, |x| <= 40", "policy", weighted(within(k1, 40.0, None))),
        ),
    ),
    *_family(
        "prime-rl",
        "after 851c48f",
        "src/prime_rl/trainer/rl/loss.py",
        (("kl_tau", "sum_t log(pi/old)^2, old the sampler", "old_policy", to_sampler(2)),),
    ),
)
"""By trainer, version or commit, file and flag; what `dph audit --catalogue` opens its page with."""


def audit_trainer_form(index: int, seed: int) -> AuditReport:
    """The audit of one setting of a trainer."""
    form = TRAINERS[index]
    return audit(form.loss, samples=form.samples, name=form.name, seed=seed)


def audit_trainers(*, seed: int = 0, workers: int = 2) -> list[AuditReport]:
    """Audit every setting in parallel processes, in the table's order."""
    indices = range(len(TRAINERS))
    audits = run_jobs(partial(audit_trainer_form, seed=seed), indices, workers=workers, one_torch_thread=True)
    found = dict(audits)
    return [found[index] for index in indices]
