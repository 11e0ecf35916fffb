"""The published repairs, each one declaration: where it was read, and its update as a formula.

Left out, since they are not one update of the answers' probabilities alone: KL-Cov (arXiv:2505.22617; its
penalty acts only between the updates of one batch, on two tokens in ten thousand) and masks by token entropy
(their share of the tokens depends on the batch). Answers are told apart by being equal, not by a judge.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from . import advantages as published
from . import surrogates as f
from . import updates as formulas
from .updates import Advantage, Stored, of_rewards

SUM, MEANS, TOKENS = "sum", "answer mean", "token mean"
"""How tokens add up: as they are, over the answer's length, or over the mean length of the batch."""
STANDARD, CATALOGUE, CODE, SUMMARY = "standard form", "this package's audit", "released code", "summary"
"""From what a method's formula is known: everybody's, what `dph audit` restates, its code, or a summary."""


@dataclass(frozen=True)
class Method:
    """One method, at its published setting; `read` says from what it is known."""

    name: str
    source: str
    note: str
    advantage: Advantage
    reduction: str = SUM
    read: str = CATALOGUE
    knob: bool = False
    """Whether a coefficient is the method's own, to be taken to zero."""
    surrogate: f.Surrogate | None = None
    """A function of policy and sampler; None: the policy gradient itself."""
    updates: int = 1
    stored: Stored | None = None
    """What stored right answers of the base add."""


def _rewards(
    name: str,
    arxiv: str,
    note: str,
    advantage: Callable[..., Any],
    reduction: str = SUM,
    read: str = CATALOGUE,
) -> Method:
    """An advantage of rewards."""
    return Method(name, f"arXiv:{arxiv}", note, of_rewards(advantage), reduction, read)


def _batch(
    name: str, arxiv: str, note: str, advantage: Advantage, reduction: str = SUM, read: str = CATALOGUE
) -> Method:
    """An advantage of all that a batch tells."""
    return Method(name, f"arXiv:{arxiv}", note, advantage, reduction, read)


def _clip(
    name: str, arxiv: str, note: str, surrogate: f.Surrogate, reduction: str = MEANS, read: str = CATALOGUE
) -> Method:
    """GRPO's advantage under a surrogate, four updates on a batch."""
    note = f"four updates on a batch; {note}"
    return Method(
        name, f"arXiv:{arxiv}", note, formulas.GROUPED, reduction, read, surrogate=surrogate, updates=4
    )


def _knob(
    name: str, source: str, note: str, advantage: Advantage, reduction: str = SUM, read: str = CATALOGUE
) -> Method:
    """A penalty or bonus with a coefficient."""
    return Method(name, source, note, advantage, reduction, read, knob=True)


def _rehearsed(name: str, note: str, divergence: FDivergence) -> Method:
    """RLOO, and what is rehearsed on stored right answers of the base."""
    rloo, stored = of_rewards(published.leave_one_out), partial(formulas.rehearsal, divergence)
    return Method(name, "arXiv:2509.07430", note, rloo, knob=True, stored=stored)


def _alone(divergence: FDivergence) -> Stored:
    """The same without a coefficient."""
    return lambda problem, log_pi, knob: formulas.rehearsal(divergence, problem, log_pi, 1.0)


_PASS_AT_2 = partial(published.pass_at_k_training, k=2)
_BY_ANSWER = partial(f.clip, low=3e-4, high=4e-4, of="sequence")
_OF_REWARDS = (
    _rewards("GRPO", "2402.03300", "(r - m)/s, tokens averaged", published.sample_deviation, MEANS),
    _rewards("Dr. GRPO", "2503.20783", "r - m, tokens added up", published.mean_of_all),
    _rewards("RLOO", "2402.14740", "r less the mean of the others", published.leave_one_out),
    _batch("REINFORCE++", "2501.03262", "(r - batch mean)/batch deviation", formulas.batch_normalised),
    _batch(
        "dynamic sampling", "2503.14476", "GRPO, equal groups replaced", formulas.dynamic_sampling, TOKENS
    ),
    _rewards("MaxRL", "2602.02710", "(r - m)/m", published.over_the_mean),
    _rewards("PKPO", "2505.15201", "gradient of pass@2, less the others", published.pkpo_leave_one_out),
    _rewards("pass@k training", "2508.10751", "of pass@2, over its deviation", _PASS_AT_2),
    _rewards("best minus second", "2503.19595", "max r - second, for the best", published.best_minus_second),
    _batch("F-GRPO", "2602.06717", "GRPO times 1 - m", partial(formulas.focal, 1.0), MEANS, SUMMARY),
    _batch("positives only", "2506.01347", "r", partial(formulas.constant, 0.0), SUM, SUMMARY),
    _batch("negatives only", "2506.01347", "r - 1", partial(formulas.constant, 1.0), SUM, SUMMARY),
    _batch("W-REINFORCE", "2506.01347", ".1 or -1", partial(formulas.weighted, 0.1), SUM, SUMMARY),
)
_CLIPPED = (
    _clip("PPO clip", "2402.03300", "ratio within .2", f.clip),
    _clip("clip-higher", "2503.14476", "ratio from .8 to 1.28", partial(f.clip, high=0.28), TOKENS),
    _clip("clip below alone", "2509.26114", "ratio from .8", partial(f.clip, high=1e9), MEANS, SUMMARY),
    _clip("clip above alone", "2509.26114", "ratio to 1.2", partial(f.clip, low=1.0), MEANS, SUMMARY),
    _clip("dual clip", "1912.09729", "ratio within .2, at most 3 if wrong", partial(f.clip, dual=3.0)),
    _clip("GSPO", "2507.18071", "the answer's mean ratio from -.0003 to +.0004", _BY_ANSWER),
    _clip("CISPO", "2506.13585", "ratio held, at most 1.28", partial(f.cispo, high=1.28), TOKENS),
    _clip("DPPO mask", "2602.04879", "masked where a probability moved by .2", f.dppo_tv),
)
_VERL, _TRL_K3, _TRL_GRPO = "verl, use_kl_in_reward", "TRL, use_bias_correction_kl", "TRL, loss_type grpo"
_GRPO, _LOG_U = "arXiv:2402.03300", "log u of each token, in its advantage"
_PENALISED = (
    _knob(
        "entropy bonus, token", "arXiv:1602.01783", "-log pi of each", formulas.entropy_bonus, SUM, STANDARD
    ),
    _knob("entropy bonus, answer", "arXiv:1702.08165", "-log pi", formulas.sequence_entropy, SUM, STANDARD),
    _knob("KL in the reward", "arXiv:2009.01325", "-log u", formulas.sequence_kl, SUM, STANDARD),
    _knob("KL in the reward, scaled", _VERL, "over the deviation", formulas.scaled_sequence_kl, TOKENS),
    _knob("k2 or corrected k3", _TRL_K3, _LOG_U, formulas.token_reverse),
    _knob("corrected k3, answer means", _TRL_GRPO, f"{_LOG_U}, averaged", formulas.token_reverse, MEANS),
    _knob("k3 in the loss", _GRPO, "1 - 1/u of each token", formulas.token_forward),
    _knob("GRPO with k3", _GRPO, "GRPO with that", formulas.grpo_k3, MEANS),
    _knob("FRPO", "arXiv:2601.10201", "GRPO, log u to go", formulas.future_kl, SUM, SUMMARY),
    _rehearsed("DPH-F", "-log u on stored right answers", FORWARD_KL),
    _rehearsed("DPH-JS", "JS on stored right answers", JENSEN_SHANNON),
    _rehearsed("DPH-alpha", "alpha = .2 on stored right answers", alpha_divergence(0.2)),
)
_TARGETED = (
    _batch("alpha-DPG", "2512.05962", "((p_*/pi)^.5 - 1)/.5", partial(formulas.dpg, 0.5)),
    _batch("KL-DPG", "2302.08215", "p_*/pi - 1", partial(formulas.dpg, 1.0)),
    Method(
        "rejection fine-tuning",
        "arXiv:2308.01825",
        "-log pi on the base's right answers, nothing else",
        formulas.nothing,
        read=STANDARD,
        stored=_alone(FORWARD_KL),
    ),
)
_BY_RANK, _BY_COUNT = "GRPO of r (1 - .25 rank/G), likelier ranks higher", "the number of equal answers"
_ADDED, _SHARED = "GRPO, and .2 (-log q - H(q)) if right", "GRPO, a fifth of the right answers' part by 1/q"
_SETS, _APART = "mean reward times share of different answers", "GRPO of r (1 + .2 d), d of the others differ"
_BAND = "GRPO without the tokens of covariance 1 to 5, all of them"
_UNIQUE = "2601.08763"
_SHAPED = (
    _batch("unlikeliness", "2506.02355", _BY_RANK, formulas.unlikeliness, MEANS, CODE),
    _batch("uniqueness", _UNIQUE, f"GRPO over {_BY_COUNT}", formulas.uniqueness, MEANS, SUMMARY),
    _batch(
        "uniqueness, in the reward",
        _UNIQUE,
        f"GRPO of r over {_BY_COUNT}",
        formulas.unique_rewards,
        MEANS,
        SUMMARY,
    ),
    _batch("UCPO, added", "2605.00365", _ADDED, partial(formulas.ucpo_added, 0.2), TOKENS, CODE),
    _batch("UCPO", "2605.00365", _SHARED, partial(formulas.ucpo, 0.2), TOKENS, CODE),
    _batch("polychromic", "2509.25424", _SETS, formulas.polychromic, SUM, SUMMARY),
    _batch("DIVER", "2509.26209", _APART, partial(formulas.diver, 0.2), TOKENS, CODE),
    _batch("Clip-Cov", "2505.22617", _BAND, formulas.clip_cov, TOKENS),
)
METHODS: tuple[Method, ...] = (*_OF_REWARDS, *_CLIPPED, *_PENALISED, *_TARGETED, *_SHAPED)
"""Every method of the atlas."""
