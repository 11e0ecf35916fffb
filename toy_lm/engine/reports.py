"""All numbers of a policy against its base in one frozen value."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch

from dph_theory.support.errors import argument_error

from . import exact
from .automaton import ValidityAutomaton
from .coverage import coverage
from .markov import MarkovLM, agreed_length, single
from .search import top_valid


@dataclass(frozen=True)
class ExactReport:
    """A policy pi against a base a and its filtered model p_*, on words of one length; nats.

    `kl` is KL(pi || a) = kl_validity + kl_valid + kl_invalid (theory A8); `effective_number` is that of
    pi(. | Y1), e^valid_entropy; `forward_kl` is KL(p_* || pi) = valid_forward_kl - log_validity, where
    `valid_forward_kl` is KL(p_* || pi(. | Y1)); `top` is the most probable valid word, `log_top_mass` its log
    probability; `coverage` is that of `coverage`, if it was asked for.
    """

    length: int
    validity: float
    log_validity: float
    kl: float
    kl_validity: float
    kl_valid: float
    kl_invalid: float
    entropy: float
    valid_entropy: float
    effective_number: float
    target_entropy: float
    forward_kl: float
    valid_forward_kl: float
    top: str
    log_top_mass: float
    coverage: float | None

    @property
    def excess_kl(self) -> float:
        """The collapse meter: KL beyond the least that the validity costs."""
        return self.kl_valid + self.kl_invalid

    @property
    def top_mass(self) -> float:
        """The top word's probability."""
        return math.exp(self.log_top_mass)

    @property
    def valid_top_mass(self) -> float:
        """The top word's probability among the valid."""
        return math.exp(self.log_top_mass - self.log_validity)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, texts and dictionaries, for `dph_theory.support.files.write_json`."""
        derived = ("excess_kl", "top_mass", "valid_top_mass")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}


def report(
    policy: MarkovLM,
    base: MarkovLM,
    automaton: ValidityAutomaton,
    length: int,
    *,
    fraction: float | None = None,
) -> ExactReport:
    """The exact report of one policy; with a fraction, coverage too, which may cost more than the rest.

    Raises ValueError for batches, an automaton that accepts no or every word of the length, or if policy or
    base gives no valid word mass.
    """
    length = agreed_length(length, single("policy", policy), single("base", base))
    automaton.require_informative(length)
    with torch.no_grad():
        valid = _given_validity(policy, base, automaton, length)
        invalid = exact.conditioned(policy, base, ~automaton, length)
        log_validity = float(valid[0].log_mass)
        valid_entropy, valid_kl = map(float, exact.entropy_and_kl(*valid))
        target_entropy, valid_forward_kl = map(float, exact.entropy_and_kl(*reversed(valid)))
        inside = torch.tensor([valid_kl, float(exact.kl(*invalid))], dtype=torch.float64)
        parts = [float(part) for part in exact.decomposed(valid, invalid, inside)]
        (top,) = top_valid(policy, automaton, length)
        return ExactReport(
            length=length,
            validity=math.exp(log_validity),
            log_validity=log_validity,
            kl=float(exact.kl(policy, base, length)),
            kl_validity=parts[0],
            kl_valid=parts[1],
            kl_invalid=parts[2],
            entropy=float(exact.entropy(policy, length)),
            valid_entropy=valid_entropy,
            effective_number=math.exp(valid_entropy) if valid_entropy < 709 else math.inf,
            target_entropy=target_entropy,
            forward_kl=valid_forward_kl - log_validity,
            valid_forward_kl=valid_forward_kl,
            top=automaton.decode(top.symbols),
            log_top_mass=top.log_prob,
            coverage=None
            if fraction is None
            else coverage(policy, base, automaton, length, fraction=fraction),
        )


def _given_validity(
    policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int
) -> exact.Pair:
    valid = exact.conditioned(policy, base, automaton, length)
    for name, law in zip(("policy", "base"), valid, strict=True):
        if law.log_mass == -torch.inf:
            raise argument_error(
                name, law.weights, f"some valid word of length {length} must have positive probability"
            )
    return valid
