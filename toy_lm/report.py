"""All numbers of a policy against its base in one frozen value."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch

from dph_theory import ExcessKL

from . import exact
from .automaton import ValidityAutomaton
from .coverage import coverage
from .markov import MarkovLM, agreed_length, single
from .product import filtered_lm
from .search import top_valid


@dataclass(frozen=True)
class ExactReport:
    """A policy pi against a base a and its filtered model p_*, on words of one length; nats.

    `kl` is KL(pi || a), split by theory A8 in `excess`; `effective_number` is e^valid_entropy, of pi(. | Y1);
    `forward_kl` is KL(p_* || pi) = valid_forward_kl - log validity, `valid_forward_kl` KL(p_* || pi(. | Y1));
    `top` the most probable valid word and `top_mass` its probability; `coverage` that of `coverage`, if asked.
    """

    length: int
    validity: float
    log_validity: float
    kl: float
    excess: ExcessKL
    entropy: float
    valid_entropy: float
    effective_number: float
    target_entropy: float
    forward_kl: float
    valid_forward_kl: float
    top: str
    top_mass: float
    coverage: float | None

    @property
    def excess_kl(self) -> float:
        """The collapse meter: KL beyond the least that the validity costs."""
        return float(self.excess.excess)

    @property
    def valid_top_mass(self) -> float:
        """The top word's probability among the valid."""
        return math.exp(math.log(self.top_mass) - self.log_validity) if self.top_mass > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, texts and dictionaries, for `dph_theory.files.write_json`."""
        parts = {name: float(value) for name, value in self.excess._asdict().items()}
        return {**asdict(self), "excess": parts, "excess_kl": self.excess_kl}


def report(
    policy: MarkovLM,
    base: MarkovLM,
    automaton: ValidityAutomaton,
    length: int,
    *,
    fraction: float | None = None,
) -> ExactReport:
    """The exact report of one policy; with a fraction, coverage too, which may cost more than the rest.

    Raises ValueError for batches, or if policy or base gives no valid word mass.
    """
    length = agreed_length(length, single("policy", policy), single("base", base))
    with torch.no_grad():
        valid, target = (filtered_lm(model, automaton, length) for model in (policy, base))
        log_validity = float(valid.log_mass)
        valid_entropy, valid_forward_kl = float(exact.entropy(valid)), float(exact.kl(target, valid))
        excess = ExcessKL(*(float(part) for part in exact.excess_kl(policy, base, automaton, length)))
        (top,) = top_valid(policy, automaton, length)
        return ExactReport(
            length=length,
            validity=math.exp(log_validity),
            log_validity=log_validity,
            kl=excess.total,
            excess=excess,
            entropy=float(exact.entropy(policy, length)),
            valid_entropy=valid_entropy,
            effective_number=math.exp(valid_entropy) if valid_entropy < 709 else math.inf,
            target_entropy=float(exact.entropy(target)),
            forward_kl=valid_forward_kl - log_validity,
            valid_forward_kl=valid_forward_kl,
            top=automaton.decode(top.symbols),
            top_mass=math.exp(top.log_prob),
            coverage=None
            if fraction is None
            else coverage(policy, base, automaton, length, fraction=fraction),
        )
