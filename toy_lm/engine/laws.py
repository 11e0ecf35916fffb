"""Laws of words over a bigram base and a validity automaton: chains on (automaton state, last symbol).

Filtered and tilted models, and the laws of token penalties, by one pass from the last symbol; validity,
entropy and divergences by one pass from the first. Divergences are sums of non-negative divergences of
next-symbol laws (chain rule), so that they are accurate however small.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import kl_div, rel_entr, softmax, xlogy

from dph_theory.binary_reward import ExcessKL
from dph_theory.numeric.arrays import positive
from dph_theory.numeric.balls import Values
from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton
from .markov import MarkovLM, agreed_length

Rule = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Rows of the base (contexts, V) and what follows each symbol -> the law's rows, and what it hands back."""


@dataclass(frozen=True, eq=False)
class TokenLaw:
    """A law of words by its next-symbol probabilities: steps[t] (states, contexts, V); rows may be zero.

    log_mass is the log of the normaliser where it has one: log a(Y1) for the filtered model, log Z_b for the
    tilted one.
    """

    automaton: ValidityAutomaton
    steps: tuple[np.ndarray, ...]
    log_mass: float = 0.0

    @property
    def length(self) -> int:
        """The length of its words."""
        return len(self.steps)

    def course(self) -> Iterator[np.ndarray]:
        """The probability of (state, context) before each step and after the last."""
        V = self.automaton.symbols
        here = np.zeros(self.steps[0].shape[:2])
        here[self.automaton.initial, 0] = 1.0
        yield here
        for table in self.steps:
            said = (here[..., None] * table).sum(axis=1)
            here = np.zeros((self.automaton.states, V))
            np.add.at(here, (self.automaton.transitions, np.arange(V)), said)
            yield here

    def mean(self, row: Callable[[int], np.ndarray]) -> float:
        """The expected sum over the steps of row(t), a cost (states, contexts) of each."""
        pairs = zip(range(self.length), self.course(), strict=False)
        return sum(float((here * np.where(here > 0, row(t), 0.0)).sum()) for t, here in pairs)

    def validity(self) -> float:
        """The probability that the automaton accepts."""
        *_, last = self.course()
        return float(last[self.automaton.accepting].sum())

    def entropy(self) -> float:
        """-sum p log p over words, in nats."""
        return self.mean(lambda t: -xlogy(self.steps[t], self.steps[t]).sum(axis=-1))

    def likeliest(self) -> tuple[str, float]:
        """The most probable word of those that the automaton accepts, and its log-probability (Viterbi)."""
        machine, choices = self.automaton, []
        with np.errstate(divide="ignore"):
            best = np.where(machine.accepting[:, None], 0.0, -np.inf) + np.zeros((1, machine.symbols))
            for table in reversed(self.steps):
                ahead = np.log(table) + best[machine.transitions, np.arange(machine.symbols)][:, None, :]
                choices.append(ahead.argmax(axis=-1))
                best = ahead.max(axis=-1)
        state, context, word = machine.initial, 0, []
        for choice in reversed(choices):
            context = int(choice[state, context])
            word.append(context)
            state = int(machine.transitions[state, context])
        return machine.decode(np.array(word)), float(best[machine.initial, 0])


def base_law(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The base itself, over the automaton."""
    return _backward(
        base, automaton, length, np.ones(automaton.states), lambda rows, ahead: (rows, ahead[..., 0])
    )


def filtered_lm(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The filtered model p_* = a(. | Y1): the base given that the word is valid.

    Raises ValueError if the automaton accepts no or every word of this length, or if the base gives the valid
    ones no mass. Source: dymetman2026binary.
    """
    automaton.require_informative(length)
    return _weighed(base, automaton, length, automaton.accepting.astype(float))


def tilted_lm(base: MarkovLM, automaton: ValidityAutomaton, length: int, beta: float) -> TokenLaw:
    """The tilted model p_b proportional to a e^{v/beta}, the optimum of KL control; beta > 0.

    Raises ValueError as `filtered_lm`. Source: dymetman2026binary.
    """
    gain = 1 / float(positive("beta", beta))
    automaton.require_informative(length)
    # Relative to the valid words', which underflows to the filtered model and never overflows.
    law = _weighed(base, automaton, length, np.where(automaton.accepting, 1.0, np.exp(-gain)))
    return TokenLaw(automaton, law.steps, law.log_mass + gain)


def token_reverse(base: MarkovLM, automaton: ValidityAutomaton, length: int, beta: float) -> TokenLaw:
    """The law of the token reverse KL at beta > 0: a e^{Q/beta} at every state and context (theory E2)."""
    beta = float(positive("beta", beta))

    def rule(rows: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore"):
            law = softmax(np.log(rows) + value / beta, axis=-1)
        return law, (law * value).sum(axis=-1)

    return _backward(base, automaton, length, automaton.accepting.astype(float), rule)


def locally_filtered(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The base with only the symbols kept after which a valid word can still be completed (theory E3).

    What grammar-constrained decoding samples from. Where none can, the base's own rows.
    """

    def rule(rows: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.where(alive > 0, rows, 0.0)
        mass = kept.sum(axis=-1, keepdims=True)
        law = np.where(mass > 0, kept / np.where(mass > 0, mass, 1.0), rows)
        return law, (mass[..., 0] > 0).astype(float)

    return _backward(base, automaton, length, automaton.accepting.astype(float), rule)


def token_law_kl(law: TokenLaw, reference: TokenLaw) -> float:
    """KL(law || reference) in nats over one automaton, by the chain rule; inf where the reference misses."""
    same = np.array_equal(law.automaton.transitions, reference.automaton.transitions)
    if not same or law.length != reference.length:
        raise argument_error("reference", reference, "a law over the same automaton and length")
    return law.mean(lambda t: rel_entr(law.steps[t], reference.steps[t]).sum(axis=-1))


def validity(model: MarkovLM, automaton: ValidityAutomaton, length: int) -> Values:
    """pi(Y1) = E_pi[v], the pass rate, of each model of the batch."""
    _check(model, automaton, agreed_length(length, model))
    V = automaton.symbols
    value = np.broadcast_to(automaton.accepting[:, None], (*model.batch, automaton.states, V)).astype(float)
    for t in reversed(range(length)):
        ahead = value[..., automaton.transitions, np.arange(V)][..., :, None, :]
        value = (model.step(t)[..., None, :, :] * ahead).sum(axis=-1)
    return value[..., automaton.initial, 0]


def excess_kl(policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int) -> ExcessKL:
    """The parts of KL(pi || a), theory A8, each computed on its own; `.excess` is the collapse meter.

    KL(pi||a) = kl(pi(Y1)||a(Y1)) + pi(Y1) KL(pi(.|Y1)||p_*) + pi(Y0) KL(pi(.|Y0)||p_0). Raises ValueError as
    `filtered_lm`, also where the policy has invalid mass and the base none. Source: ours (chain rule).
    """
    parts = []
    for part in (automaton, ~automaton):
        share, base_share = (float(validity(model, part, length)) for model in (policy, base))
        inside = 0.0
        if share:
            laws = (filtered_lm(model, part, length) for model in (policy, base))
            inside = share * token_law_kl(*laws)
        parts.append((float(kl_div(share, base_share)), inside))
    (right, valid), (wrong, invalid) = parts
    total = token_law_kl(*(base_law(model, automaton, length) for model in (policy, base)))
    return ExcessKL(*map(np.asarray, (total, right + wrong, valid, invalid)))


def m_projection(target: TokenLaw, *, homogeneous: bool = True) -> MarkovLM:
    """The bigram model nearest to the target, argmin KL(target || pi), in closed form.

    Its rows are the target's expected counts of (last symbol, symbol), normalised: of each step, or if
    homogeneous of all steps after the first together. Contexts that the target never visits get the uniform
    row, on which KL(target || pi) does not depend.
    """
    pairs = zip(target.course(), target.steps, strict=False)
    first, *rest = ((here[..., None] * table).sum(axis=0) for here, table in pairs)
    V = target.automaton.symbols
    counts = np.array(rest).reshape(-1, V, V)
    return MarkovLM(_rows(first)[0], _rows(counts.sum(axis=0) if homogeneous else counts))


def _rows(counts: np.ndarray) -> np.ndarray:
    """The rows normalised; uniform where there is no count."""
    visits = counts.sum(axis=-1, keepdims=True)
    return np.where(visits > 0, counts / np.where(visits > 0, visits, 1.0), 1 / counts.shape[-1])


def _weighed(base: MarkovLM, automaton: ValidityAutomaton, length: int, final: np.ndarray) -> TokenLaw:
    """The law proportional to the base times `final` of the state reached."""
    scale = 0.0

    def rule(rows: np.ndarray, ahead: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal scale
        joint = rows * ahead
        mass = joint.sum(axis=-1, keepdims=True)
        largest = float(mass.max())
        # Long words have a small mass: only its ratios are handed on.
        scale += np.log(largest) if largest > 0 else 0.0
        law = joint / np.where(mass > 0, mass, 1.0)
        return law, mass[..., 0] / (largest or 1.0)

    law = _backward(base, automaton, length, final, rule)
    mass = float(law.log_mass)
    if mass == 0:
        allowed = "the base must give some valid word of this length positive probability"
        raise argument_error("length", length, allowed)
    return TokenLaw(automaton, law.steps, scale + float(np.log(mass)))


def _backward(
    base: MarkovLM, automaton: ValidityAutomaton, length: int, final: np.ndarray, rule: Rule
) -> TokenLaw:
    """One pass from the last symbol: what follows each symbol, and by the rule the rows before it.

    The law's log_mass is what is handed back at the beginning, as it is.
    """
    _check(base, automaton, agreed_length(length, base))
    if base.batch:
        raise argument_error("base.batch", base.batch, "one model, without batch axes; `member` picks one")
    V = automaton.symbols
    value = np.broadcast_to(final[:, None], (automaton.states, V))
    steps: list[np.ndarray] = []
    for t in reversed(range(length)):
        rows = base.step(t)
        ahead = value[automaton.transitions, np.arange(V)][:, None, :]
        ahead = np.broadcast_to(ahead, (automaton.states, len(rows), V))
        law, value = rule(np.broadcast_to(rows, ahead.shape), ahead)
        steps.append(law)
    return TokenLaw(automaton, tuple(reversed(steps)), float(value[automaton.initial, 0]))


def _check(model: MarkovLM, automaton: ValidityAutomaton, length: int) -> None:
    if automaton.symbols != model.vocabulary:
        raise argument_error(
            "base.vocabulary", model.vocabulary, f"the automaton's {automaton.symbols} symbols"
        )
