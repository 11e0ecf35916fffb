"""Trainers' KL terms by version (or commit), file and flag: the one table that audit, predict and docs read.

A commit is one at which the formula was read. x = log(pi/ref) of a sampled token, sg holds its argument
fixed, clip(y, c) is y within +-c. The functions stand in `losses.released`, loaded when asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import lambertw

from .divergences import FORWARD_KL, REVERSE_KL
from .fdivergence import FDivergence
from .support.errors import argument_error

FILTERED, LOCAL, FORWARD_LIMIT = "filtered model", "locally filtered model", "token forward limit"
BASE_RATE = "base's own rate"
ENDS: dict[str, str] = {
    FILTERED: "the base's right answers, in the base's proportions",
    LOCAL: "the base restricted, token by token, to what can still become a right answer",
    FORWARD_LIMIT: "only right answers, not in the base's proportions",
    BASE_RATE: "right answers in the base's proportions, as often as the base gives one",
}
"""Where training ends with a small beta, in words (theory E1, E3, B3)."""
NEVER_RELEASED = -20.0
"""A clamp that acts only below this x acts at no beta in use: a token has e^-20 of its mass there."""

_ESTIMATES = {"k1": "x", "k2": "x^2/2", "k3": "e^-x - 1 + x", "abs": "|x|"}
_FORMULAS = {
    "loss": "{v}",
    "straight through": "sg({v}) + x^2/2 - sg(x^2/2)",
    "ratio": "(pi/old) {f}",
    "held ratio": "sg(pi/old) {f}",
    "score": "e^(l - sg l) {f}, l = log pi",
    "clamped ratio": "(pi/old) {f}",
    "clamped score": "e^(l - sg l) {f}",
    "answer ratio": "e^mean(log pi/old) {f}",
    "ratio, held estimate": "sum_t (pi/old) sg({v})",
    "reward": "log pi(y) sg(sum_t {f})",
    "reward to go": "sum_t log pi_t sg(sum_{{s>=t}} {f})",
    "own reward": "log pi_t sg({f})",
    "sampler": "sum_t log(pi/old)^2",
}
"""The loss of a token, by place: v the estimate with its clamp, f the same as a factor."""
_KL_OF: dict[tuple[str, str], FDivergence] = {
    ("loss", "k2"): REVERSE_KL,
    ("loss", "k3"): FORWARD_KL,
    ("held ratio", "k3"): FORWARD_KL,
    ("ratio, held estimate", "k1"): REVERSE_KL,
    ("reward", "k1"): REVERSE_KL,
    ("reward to go", "k1"): REVERSE_KL,
    ("own reward", "k1"): REVERSE_KL,
    **{("straight through", estimator): REVERSE_KL for estimator in ("k1", "k2", "k3", "abs")},
    **{
        (place, estimator): REVERSE_KL
        for place in ("ratio", "score", "clamped ratio", "clamped score")
        for estimator in ("k1", "k3")
    },
}
"""What is descended, by place and estimator (theory B6)."""


@dataclass(frozen=True)
class KLTerm:
    """One trainer's KL term under one setting of its flags.

    `place`, `estimator`, `inner`, `outer` are the arguments of `losses.released.kl_term`; `samples` says
    whose samples the term is audited on; `name` is short for those of the docs' table ("" for others).
    `default` marks the form without flags.
    """

    trainer: str
    version: str
    file: str
    flags: str
    place: str
    estimator: str = "k3"
    inner: float | None = None
    outer: float | None = None
    samples: str = "policy"
    name: str = ""
    default: bool = False

    @property
    def title(self) -> str:
        """The trainer, its version and the flags."""
        return f"{self.trainer} {self.version}, {self.flags}"

    @property
    def formula(self) -> str:
        """The term of a token in symbols, such as: clip(e^-x - 1 + x, 10), |x| <= 20."""
        after = self.place.startswith("clamped")
        value = _ESTIMATES[self.estimator]
        if self.outer is not None and not after:
            value = f"clip({value}, {self.outer:g})"
        factor = f"({value})" if value == _ESTIMATES["k3"] else value
        found = _FORMULAS[self.place].format(v=value, f=factor)
        if after and self.outer is not None:
            found = f"clip({found}, {self.outer:g})"
        return found if self.inner is None else f"{found}, |x| <= {self.inner:g}"

    @property
    def loss(self) -> Callable[..., Any]:
        """The function of log-probabilities; needs torch."""
        made: Callable[..., Any] = import_module("dph_theory.losses.released").kl_term(
            self.place, self.estimator, inner=self.inner, outer=self.outer
        )
        return made

    @property
    def divergence(self) -> FDivergence | None:
        """What its gradient descends where no token is clamped; None if neither KL, or no law follows."""
        weighted = {"ratio", "held ratio", "clamped ratio", "ratio, held estimate"}
        if self.samples == "old_policy" and self.place not in weighted:
            return None
        # Clamped before the product, the value stops and the score does not.
        if self.place in ("ratio", "score") and self.estimator == "k3" and self.outer is not None:
            return None
        return _KL_OF.get((self.place, self.estimator))

    @property
    def token(self) -> bool:
        """Whether it penalises each token at the prefixes sampled, and not the whole answer."""
        return not self.place.startswith("reward")

    @property
    def released_below(self) -> float:
        """The x below which a sampled token has no gradient, because a clamp acts; -inf if none does."""
        if self.place not in ("loss", "held ratio", "clamped ratio", "clamped score"):
            return -np.inf
        edge = -np.inf if self.inner is None else -self.inner
        if self.outer is None or self.estimator == "k1":
            return edge
        c = self.outer + 1
        # The lower root of e^-x - 1 + x = outer; of x^2/2 = outer.
        low = c + lambertw(-np.exp(-c), -1).real if self.estimator == "k3" else -np.sqrt(2 * self.outer)
        return max(edge, float(low))

    @property
    def law(self) -> str:
        """What a run with this term obeys where it ends, such as: reverse KL per token."""
        if self.divergence is None:
            return "not known"
        kind = "forward" if self.divergence is FORWARD_KL else "reverse"
        found = f"{kind} KL {'per token' if self.token else 'of the whole answer'}"
        if self.released_below <= NEVER_RELEASED:
            return found
        below = f"{100 * np.exp(self.released_below):.2g}% of its base probability"
        return f"{found}; below {below} a token gets no KL gradient (the clamp)"

    @property
    def selects(self) -> str:
        """The policy that training ends at with a small beta: a key of ENDS, or "not known"."""
        if self.divergence is None:
            return "not known"
        if not self.token:
            return FILTERED
        # A wrong token that the clamp has let go loses all its mass: what is left is filtered token by token.
        kept = self.released_below <= NEVER_RELEASED
        return FORWARD_LIMIT if self.divergence is FORWARD_KL and kept else LOCAL


def _terms(trainer: str, version: str, file: str, *rows: dict[str, Any]) -> tuple[KLTerm, ...]:
    return tuple(KLTerm(trainer, version, file, **row) for row in rows)


def _row(flags: str, place: str, estimator: str = "k3", *clamps: float | None, **more: Any) -> dict[str, Any]:
    inner, outer = clamps or (None, None)
    return {"flags": flags, "place": place, "estimator": estimator, "inner": inner, "outer": outer, **more}


_OLD = {"samples": "old_policy"}
_VERL, _NEMO = "verl/trainer/ppo/core_algos.py", "nemo_rl/algorithms/loss/loss_functions.py"
_APPROXIMATED = "kl_type=k3, use_on_policy_kl_approximation"
KL_TERMS: tuple[KLTerm, ...] = (
    *_terms(
        "TRL",
        "1.16",
        "trl/trainer/grpo_trainer.py",
        _row("use_bias_correction_kl=False (default to 1.9.1)", "loss", name="k3"),
        _row("use_bias_correction_kl=True (default from 1.10.0)", "ratio", name="corrected-k3", default=True),
        _row("the same, importance_sampling_level=sequence", "answer ratio"),
        _row("use_bias_correction_kl=True, vLLM's ratio not on the KL", "score", **_OLD),
    ),
    *_terms(
        "verl",
        "1dda039b9",
        _VERL,
        _row("kl_loss_type=kl, k1", "loss", "k1"),
        _row("kl_loss_type=abs", "loss", "abs"),
        _row("kl_loss_type=mse, k2", "loss", "k2", name="k2"),
        _row("kl_loss_type=low_var_kl, k3", "loss", "k3", 20, 10, name="k3", default=True),
        _row("kl_loss_type=low_var_kl, k3, later updates", "loss", "k3", 20, 10, **_OLD),
        _row("use_kl_in_reward, kl", "reward", "k1", name="reward"),
        _row("use_kl_in_reward, low_var_kl", "reward", "k3", 20, 10),
        _row("kl_loss_type=k1+", "straight through", "k1"),
        _row("kl_loss_type=abs+", "straight through", "abs"),
        _row("kl_loss_type=low_var_kl+, k3+", "straight through", "k3", 20, 10, name="k3+"),
    ),
    *_terms(
        "NeMo-RL",
        "2369c0aec",
        _NEMO,
        _row("kl_type=k3", "loss", "k3", 20, 10),
        _row(_APPROXIMATED, "held ratio", "k3", 20, 10, **_OLD),
    ),
    *_terms(
        "NeMo-RL",
        "33bce20d7",
        _NEMO,
        *(_row(f"kl_type={k}", "score", k, 20, 10) for k in ("k1", "k2", "k3")),
        _row(_APPROXIMATED, "ratio", "k3", 20, 10, **_OLD),
    ),
    *_terms(
        "NeMo-RL",
        "7ea279abf",
        _NEMO,
        *(_row(f"kl_type={k}", "clamped score", k, 20, 10) for k in ("k1", "k2")),
        _row("kl_type=k3", "clamped score", "k3", 20, 10, name="k3", default=True),
        _row(_APPROXIMATED, "clamped ratio", "k3", 20, 10, **_OLD),
        _row("use_kl_in_reward, reinforce_plus_plus", "own reward", "k3", 20, 10),
    ),
    *_terms(
        "slime",
        "624b824a8",
        "slime/utils/ppo_utils.py",
        *(_row(f"kl_loss_type={k}", "loss", k) for k in ("k1", "k2", "k3")),
        _row("kl_loss_type=low_var_kl", "loss", "k3", None, 10),
        *(_row(f"{k} with importance_ratio", "ratio", k, **_OLD) for k in ("k1", "k2", "k3")),
        _row("low_var_kl with importance_ratio", "clamped ratio", "k3", None, 10, **_OLD),
    ),
    *_terms(
        "OpenRLHF",
        "3c3be6234",
        "openrlhf/models/utils.py",
        _row("algo.kl.use_loss, estimator=k1", "loss", "k1", None, 10),
        _row("algo.kl.use_loss, estimator=k2", "loss", "k2", None, 10, name="k2"),
        _row("algo.kl.use_loss, estimator=k3", "loss", "k3", None, 10, name="k3"),
        _row("algo.kl.init_coef, estimator=k1", "reward to go", "k1", None, 10, name="reward", default=True),
    ),
    *_terms(
        "open-instruct",
        "e6c3044aa",
        "open_instruct/model_utils.py",
        *(_row(f"kl_estimator={i}", "loss", k, 40, None) for i, k in enumerate(("k1", "k2", "k3"))),
        _row("kl_estimator=3", "ratio", "k1", 40, None),
    ),
    *_terms(
        "oat",
        "c1a074c32",
        "oat/algorithms/ppo.py",
        _row("beta", "loss", "k3", 40, None),
        _row("kl_penalty_coef", "reward", "k1"),
    ),
    *_terms(
        "prime-rl",
        "559b44772",
        "src/prime_rl/trainer/rl/loss.py",
        _row("kl_tau (old the sampler)", "sampler", "k2", **_OLD),
        _row("ref_kl (within old - pi <= 0.2)", "ratio, held estimate", "k1"),
    ),
    *_terms(
        "SkyRL",
        "a9564572e",
        "skyrl/backends/skyrl_train/utils/ppo_utils.py",
        _row("use_kl_loss, kl_estimator_type=k3", "loss", "k3", 20, 10, name="k3", default=True),
        *(_row(f"use_kl_loss, kl_estimator_type={k}", "loss", k) for k in ("k1", "k2", "abs")),
        _row("use_kl_in_reward, kl_estimator_type=k1", "reward", "k1"),
        _row("use_kl_in_reward, kl_estimator_type=k3", "reward", "k3", 20, 10),
    ),
    *_terms(
        "AReaL",
        "4aef98d8d",
        "areal/trainer/ppo/actor.py",
        _row("kl_ctl, kl_estimator=k1", "reward to go", "k1", None, 10, name="reward", default=True),
        *(_row(f"kl_ctl, kl_estimator={k}", "reward to go", k, None, 10) for k in ("k2", "k3")),
    ),
    *_terms(
        "Tinker",
        "9dfcc3a2e",
        "tinker_cookbook/rl/metrics.py",
        _row("kl_penalty_coef", "own reward", "k1", name="own reward", default=True),
        _row("kl_penalty_coef, kl_discount_factor=1", "reward to go", "k1"),
    ),
)
"""By trainer, version or commit, file and flags."""

PREDICTED: tuple[KLTerm, ...] = tuple(term for term in KL_TERMS if term.name)
"""Those that the docs' table of trainers shows."""
TRAINERS: tuple[str, ...] = tuple(dict.fromkeys(term.trainer.lower() for term in PREDICTED))


def kl_form(trainer: str, name: str | None = None, version: str | None = None) -> KLTerm:
    """The KL term of a trainer by name; without one, that which the version has without flags.

    Parameters: `trainer`, one of TRAINERS; `name`, as in `KLTerm.name`; `version`, a dotted number. Raises
    ValueError for an unknown trainer or name, or a version that is no dotted number.

    >>> kl_form("trl", version="1.9").name
    'k3'
    """
    found = {term.name: term for term in PREDICTED if term.trainer.lower() == trainer}
    if not found:
        raise argument_error("trainer", trainer, f"one of {', '.join(TRAINERS)}")
    if name is None:
        if trainer == "trl" and version is not None and _numbers(version) < (1, 10):
            return found["k3"]
        return next(term for term in found.values() if term.default)
    if name not in found:
        raise argument_error("form", name, f"for {trainer} one of {', '.join(found)}")
    return found[name]


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    if not all(part.isdigit() for part in parts):
        raise argument_error("version", version, "a dotted number, such as 1.16")
    return tuple(int(part) for part in parts)
