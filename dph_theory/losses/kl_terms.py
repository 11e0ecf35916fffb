"""Trainers' KL terms by version (or commit), file and flag, read from kl_terms.txt.

A commit is one at which the formula was read. x = log(pi/ref) of a sampled token, sg stops the gradient of
its argument, clip(y, c) is y within +-c. The functions are in `penalty`, loaded on demand.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence

FILTERED, LOCAL, FORWARD_LIMIT = "filtered model", "constrained decoding", "small-beta limit of k3"
BASE_RATE = "base's own rate"
ENDS: dict[str, str] = {
    FILTERED: "the base's correct answers, in the base's proportions",
    LOCAL: "the base restricted, token by token, to what can still become a correct answer",
    FORWARD_LIMIT: "only correct answers, not in the base's proportions",
    BASE_RATE: "correct answers in the base's proportions, as often as the base gives one",
}
"""Limit of training with a small beta, in words. Source: ours, entries `sequence_penalties`,
`token_penalties`, `rehearsal_gauge`.
"""
# A clamp acts at no beta in use if it acts only below this x: a token has e^-20 of its mass there.
NEVER_RELEASED = -20.0

_KINDS = {FORWARD_KL.name: "forward KL", REVERSE_KL.name: "reverse KL"}
_RARE = 7.0  # A token above e^7 times its base probability, as a clamp may allow, is too rare to report.


class TokenEstimate(NamedTuple):
    """Estimate of the KL at a token: its formula, and its value in an arithmetic (numpy, torch, sympy)."""

    formula: str
    value: Callable[[Any, Any], Any]

    def clamped(self, xp: Any, x: Any, inner: float | None = None, outer: float | None = None) -> Any:
        """Evaluate the estimate at log-ratios x clamped to +-inner, and clamp the value to +-outer.

        `xp` is the array module (numpy, torch or sympy); the value has the shape of `x`. None means no clamp.
        """
        return bounded(self.value(xp, bounded(x, inner)), outer)


def bounded(values: Any, limit: float | None) -> Any:
    """Clamp an array or tensor to +-limit; None means no clamp."""
    return values if limit is None else values.clip(-limit, limit)


ESTIMATORS: Mapping[str, TokenEstimate] = MappingProxyType(
    {
        "k1": TokenEstimate("x", lambda xp, x: x),
        "k2": TokenEstimate("x^2/2", lambda xp, x: x**2 / 2),
        "k3": TokenEstimate("e^-x - 1 + x", lambda xp, x: xp.exp(-x) - 1 + x),
        "abs": TokenEstimate("|x|", lambda xp, x: abs(x)),
    }
)
"""Estimates by name, computed as trainers compute them, overflow included."""
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
    "definition": "f(pi/ref) on the policy's own samples",
}
"""Loss of a token, by place: v is the estimate with its clamp, f the estimate as a factor."""
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
"""Divergence whose gradient a loss has, by place and estimator. Source: entries `kl_estimators`."""


@dataclass(frozen=True)
class Setting:
    """One setting of a trainer's flags, at the version or commit at which its file was read."""

    trainer: str
    version: str
    file: str
    flags: str

    @property
    def title(self) -> str:
        """The trainer, its version and the flags, as text."""
        return f"{self.trainer} {self.version}, {self.flags}"


@dataclass(frozen=True)
class KLTerm(Setting):
    """A trainer's KL term: the arguments of `losses.kl_term`, and whose samples the term is audited on.

    `declared` is the divergence of a definition form, which names the divergence (place "definition").
    """

    place: str
    estimator: str = "k3"
    inner: float | None = None
    outer: float | None = None
    samples: str = "policy"
    declared: FDivergence | None = None

    @property
    def formula(self) -> str:
        """The term of a token in symbols, such as clip(e^-x - 1 + x, 10), |x| <= 20."""
        clamps_product = self.place.startswith("clamped")
        value = ESTIMATORS[self.estimator].formula
        if self.outer is not None and not clamps_product:
            value = f"clip({value}, {self.outer:g})"
        factor = f"({value})" if self.estimator == "k3" and "clip" not in value else value
        formula = _FORMULAS[self.place].format(v=value, f=factor)
        if clamps_product and self.outer is not None:
            formula = f"clip({formula}, {self.outer:g})"
        return formula if self.inner is None else f"{formula}, |x| <= {self.inner:g}"

    @property
    def loss(self) -> Callable[..., Any]:
        """The term as a function of batch log-probabilities to a scalar, by `kl_term`; needs torch."""
        from .penalty import kl_term

        return kl_term(self.place, self.estimator, inner=self.inner, outer=self.outer)

    @property
    def divergence(self) -> FDivergence | None:
        """Divergence that the term minimises if no token is clamped; None if it minimises none."""
        if self.declared is not None:
            return self.declared
        weighted = {"ratio", "held ratio", "clamped ratio", "ratio, held estimate"}
        if self.samples == "old_policy" and self.place not in weighted:
            return None
        # The clamp before the product stops the gradient of the value, not of the score.
        if self.place in ("ratio", "score") and self.estimator == "k3" and self.outer is not None:
            return None
        return _KL_OF.get((self.place, self.estimator))

    @property
    def token(self) -> bool:
        """True if the term penalises each token at sampled prefixes, not the whole answer."""
        return not self.place.startswith("reward")

    @property
    def released_below(self) -> float:
        """Log-ratio below which a clamp removes a sampled token's KL gradient; -inf if no clamp does."""
        if self.place not in ("loss", "held ratio", "clamped ratio", "clamped score"):
            return -np.inf
        edge = -np.inf if self.inner is None else -self.inner
        if self.outer is None or self.estimator == "k1":
            return edge
        from scipy.special import lambertw

        c = self.outer + 1
        # The lower root of e^-x - 1 + x = outer; the root of x^2/2 = outer.
        low = c + lambertw(-np.exp(-c), -1).real if self.estimator == "k3" else -np.sqrt(2 * self.outer)
        return max(edge, float(low))

    @property
    def released_above(self) -> float:
        """Log-ratio x above which a clamp of k2 removes a sampled token's gradient; inf if none does.

        A correct answer rarer in the base than e^-x then has no penalty once it is common, and takes all
        mass.
        """
        clamps = self.place in ("loss", "held ratio") and self.estimator == "k2" and self.outer is not None
        return float(np.sqrt(2 * self.outer)) if clamps and self.outer is not None else np.inf

    @property
    def stationary_kl(self) -> str:
        """The KL at the stationary policy of a run with this term, such as "reverse KL per token"."""
        if self.place == "answer ratio" and self.estimator == "k3":
            return "1/L reverse and 1 - 1/L forward KL per token, in answers of L tokens"
        if self.divergence is None:
            return "not known"
        kind = _KINDS.get(self.divergence.name, self.divergence.name)
        name = f"{kind} {'per token' if self.token else 'of the whole answer'}"
        if self.released_below <= NEVER_RELEASED:
            return name
        bounds = f"below {100 * np.exp(self.released_below):.2g}% of its base probability"
        if self.released_above < _RARE:
            bounds += f" or above {np.exp(self.released_above):.1f} times it"
        return f"{name}; {bounds} a token gets no KL gradient (the clamp)"

    @property
    def unknown(self) -> str:
        """Reason why the term has no known stationary policy; empty if it has one."""
        return "" if self.divergence is not None else f"where it stops is not known ({self.stationary_kl})"

    @property
    def selects(self) -> str:
        """The policy that training converges to with a small beta: a key of ENDS, or "not known"."""
        if self.divergence not in (FORWARD_KL, REVERSE_KL):
            return "not known"
        if not self.token:
            return FILTERED
        # A token that leads to no correct answer and whose KL gradient the clamp removes loses all its mass:
        # the result is filtered token by token.
        never_released = self.released_below <= NEVER_RELEASED
        return FORWARD_LIMIT if self.divergence is FORWARD_KL and never_released else LOCAL


def term(place: str, estimator: str = "k3", inner: float | None = None, outer: float | None = None) -> KLTerm:
    """Build a KL term from its arguments, without a trainer's row."""
    return KLTerm("", "", "", "", place, estimator, inner, outer)


KL_FORMS: Mapping[str, KLTerm] = MappingProxyType(
    {
        "k1": term("loss", "k1"),
        "k2": term("loss", "k2"),
        "k3": term("loss"),
        "k3_corrected": term("ratio"),
        "future_kl": term("reward to go", "k1"),
        "sequence_kl": term("reward", "k1"),
    }
)
"""KL terms without a clamp by the names that the package uses.

k1, k2, k3: of each token, in the loss; k3_corrected: times pi/pi_old; future_kl, sequence_kl: in the reward,
of the tokens to come (arXiv 2601.10201) or of the whole answer.
"""
DESCENDING = tuple(name for name, form in KL_FORMS.items() if form.divergence is not None)
"""Forms that minimise a KL: all but k1 in the loss, whose expected gradient is zero."""

_Source = tuple[str, str, str, str]


def rows(file: str) -> Iterator[tuple[_Source, list[str], bool]]:
    """Yield the rows of a file: trainer, version, file and flags; the other columns; is the row starred?"""
    trainer, version, source_file = "", "", ""
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith((" ", "*")):
            flags, *columns = (part.strip() for part in line[1:].split(" | "))
            yield (trainer, version, source_file, flags), columns, line.startswith("*")
        elif line and not line.startswith("#"):
            trainer, version, source_file = line.split("; ")


def term_from(source: _Source, place: str, form: str, *old_samples: str) -> KLTerm:
    """Build the term of a row, whose estimator and clamps ("-" for none) are in `form`."""
    estimator, *clamps = form.split()
    inner, outer = (None if clamp == "-" else float(clamp) for clamp in clamps or "--")
    return KLTerm(*source, place, estimator, inner, outer, "old_policy" if old_samples else "policy")


_ROWS = [(term_from(source, *columns), starred) for source, columns, starred in rows("kl_terms.txt")]
KL_TERMS = tuple(term for term, _ in _ROWS)  # By trainer, version or commit, file and flags.
SHOWN = tuple(term for term, starred in _ROWS if starred)  # The terms that the docs' table of trainers shows.
