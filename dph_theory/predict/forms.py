"""The KL terms of TRL, verl and OpenRLHF by flag, and the law of training that each has."""

from dataclasses import dataclass

from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence
from ..support.errors import argument_error


@dataclass(frozen=True)
class KLForm:
    """One trainer's KL term under one setting of its flags; `name` is what `--form` takes.

    `token` says whether it penalises each token at the prefixes sampled (else the whole answer), `scale` how
    the trainer divides its advantages by default (see `laws.SCALES`).
    """

    trainer: str
    name: str
    flags: str
    divergence: FDivergence
    token: bool
    scale: str = "std"
    default: bool = False
    note: str = ""

    @property
    def law(self) -> str:
        """The law in words."""
        place = "each token" if self.token else "the whole answer"
        return f"{'forward' if self.divergence is FORWARD_KL else 'reverse'} KL of {place}"

    @property
    def selects(self) -> str:
        """The policy that the law tends to as beta falls."""
        if not self.token:
            return "the filtered model"
        third = "the token forward limit, neither the filtered nor the locally filtered model"
        return third if self.divergence is FORWARD_KL else "the locally filtered model"


_IN_REWARD = "the KL enters before the division by the deviation, so a divided run obeys this law only nearly"

FORMS: tuple[KLForm, ...] = (
    KLForm(
        "trl", "corrected-k3", "use_bias_correction_kl=True (default from 1.10)", REVERSE_KL, True,
        default=True,
    ),
    KLForm("trl", "k3", "use_bias_correction_kl=False (default before 1.10)", FORWARD_KL, True),
    KLForm(
        "verl", "k3", "use_kl_loss=True, kl_loss_type=low_var_kl", FORWARD_KL, True, default=True,
        note="clipped at 10, so that tokens far below the reference are not pulled back",
    ),
    KLForm("verl", "k3+", "use_kl_loss=True, kl_loss_type=k3+", REVERSE_KL, True),
    KLForm("verl", "k2", "use_kl_loss=True, kl_loss_type=mse", REVERSE_KL, True),
    KLForm("verl", "reward", "use_kl_in_reward=True, kl_penalty=kl", REVERSE_KL, False, note=_IN_REWARD),
    KLForm(
        "openrlhf", "reward", "init_kl_coef, kl_estimator=k1", REVERSE_KL, False, default=True,
        note="the KL to go is added after the advantage is divided: the law of beta/alpha_G",
    ),
    KLForm("openrlhf", "k2", "use_kl_loss, kl_estimator=k2", REVERSE_KL, True),
    KLForm("openrlhf", "k3", "use_kl_loss, kl_estimator=k3", FORWARD_KL, True),
)  # fmt: skip
"""As the trainers' code is written for on-policy steps; re-used samples change the expected gradient."""

TRAINERS = tuple(dict.fromkeys(form.trainer for form in FORMS))


def kl_form(trainer: str, name: str | None = None, version: str | None = None) -> KLForm:
    """The trainer's form of that name; by default the one that the version has without flags.

    Raises ValueError for an unknown trainer or form, or a version that is no dotted number.
    """
    found = {form.name: form for form in FORMS if form.trainer == trainer}
    if not found:
        raise argument_error("trainer", trainer, f"one of {', '.join(TRAINERS)}")
    if name is None:
        if trainer == "trl" and version is not None and _numbers(version) < (1, 10):
            return found["k3"]
        return next(form for form in found.values() if form.default)
    if name not in found:
        raise argument_error("form", name, f"for {trainer} one of {', '.join(found)}")
    return found[name]


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    if not all(part.isdigit() for part in parts):
        raise argument_error("version", version, "a dotted number, such as 1.16")
    return tuple(int(part) for part in parts)
