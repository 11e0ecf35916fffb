"""The published methods, each one declaration: where it was read, and its update as a formula.

Left out, since they are not one update of the answers' probabilities alone: KL-Cov (arXiv:2505.22617; its
penalty acts only between the updates of one batch, on two tokens in ten thousand) and masks by token entropy
(their share of the tokens depends on the batch). Answers are compared by being equal, not by a judge.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from ..methods import advantages as published
from ..methods import surrogates as f
from . import updates as u
from .updates import GROUPED, in_the_loss, in_the_reward, of_rewards, rehearsal, rloo, shaped, weighted

SUM, MEANS, TOKENS = "sequence_sum", "sequence_mean", "token_mean"
"""How tokens add up: as they are, over the answer's length, or over the mean length of the batch."""
STANDARD, CATALOGUE, CODE, SUMMARY = "standard form", "this package's audit", "released code", "summary"
"""From what a method's formula is known: everybody's, what `dph audit` restates, its code, or a summary."""


@dataclass(frozen=True)
class Repair:
    """One method, at its published setting; `read` says from what it is known."""

    name: str
    source: str
    note: str
    advantage: u.Advantage
    reduction: str = SUM
    read: str = CATALOGUE
    knob: bool = False
    """Whether a coefficient is the method's own, to be taken to zero."""
    surrogate: f.Surrogate | None = None
    """A function of policy and sampler; None: the policy gradient itself."""
    updates: int = 1
    stored: u.Stored | None = None
    """What stored correct answers of the base add."""


def _repairs(*rows: tuple[Any, ...], **common: Any) -> tuple[Repair, ...]:
    """Rows of what all have in `common`; a source that is a number is one of arXiv's."""
    sources = [f"arXiv:{row[1]}" if row[1][:4].isdigit() else row[1] for row in rows]
    return tuple(
        Repair(row[0], source, *row[2:], **common) for row, source in zip(rows, sources, strict=True)
    )


def _clip(
    name: str, arxiv: str, note: str, surrogate: f.Surrogate, reduction: str = MEANS, read: str = CATALOGUE
) -> Repair:
    """GRPO's advantage under a surrogate, four updates on a batch."""
    found = (name, arxiv, f"four updates on a batch; {note}", GROUPED, reduction, read)
    return _repairs(found, surrogate=surrogate, updates=4)[0]


def _rehearsed(name: str, note: str, divergence: FDivergence) -> Repair:
    """RLOO, and what is rehearsed on stored correct answers of the base."""
    stored = partial(rehearsal, divergence)
    return _repairs((name, "2509.07430", note, _RLOO), knob=True, stored=stored)[0]


_RLOO, _OF_PASS_AT_2 = of_rewards(published.leave_one_out), partial(published.pass_at_k_training, k=2)
_SECOND, _REPLACED = "max r - second, for the best", "GRPO, equal groups replaced"
_OF_REWARDS = _repairs(
    ("GRPO", "2402.03300", "(r - m)/s, tokens averaged", GROUPED, MEANS),
    ("Dr. GRPO", "2503.20783", "r - m, tokens added up", of_rewards(published.mean_of_all)),
    ("RLOO", "2402.14740", "r less the mean of the others", _RLOO),
    ("REINFORCE++", "2501.03262", "(r - batch mean)/batch std", u.batch_normalised),
    ("dynamic sampling", "2503.14476", _REPLACED, u.dynamic_sampling, TOKENS),
    ("MaxRL", "2602.02710", "(r - m)/m", of_rewards(published.over_the_mean)),
    ("PKPO", "2505.15201", "gradient of pass@2, less the others", of_rewards(published.pkpo_leave_one_out)),
    ("pass@k training", "2508.10751", "of pass@2, over its std", of_rewards(_OF_PASS_AT_2)),
    ("best minus second", "2503.19595", _SECOND, of_rewards(published.best_minus_second)),
    ("F-GRPO", "2602.06717", "GRPO times 1 - m", u.focal, MEANS, SUMMARY),
    ("positives only", "2506.01347", "r", partial(weighted, 1.0, 0.0), SUM, SUMMARY),
    ("negatives only", "2506.01347", "r - 1", partial(weighted, 0.0, -1.0), SUM, SUMMARY),
    ("W-REINFORCE", "2506.01347", ".1 or -1", partial(weighted, 0.1, -1.0), SUM, SUMMARY),
)
_OF_ANSWERS = partial(f.clip, low=3e-4, high=4e-4, of="sequence")
_CLIPPED = (
    _clip("PPO clip", "2402.03300", "ratio within .2", f.clip),
    _clip("clip-higher", "2503.14476", "ratio from .8 to 1.28", partial(f.clip, high=0.28), TOKENS),
    _clip("clip below alone", "2509.26114", "ratio from .8", partial(f.clip, high=1e9), MEANS, SUMMARY),
    _clip("clip above alone", "2509.26114", "ratio to 1.2", partial(f.clip, low=1.0), MEANS, SUMMARY),
    _clip("dual clip", "1912.09729", "ratio within .2, at most 3 if incorrect", partial(f.clip, dual=3.0)),
    _clip("GSPO", "2507.18071", "the answer's mean ratio from -.0003 to +.0004", _OF_ANSWERS),
    _clip("CISPO", "2506.13585", "ratio held, at most 1.28", partial(f.cispo, high=1.28), TOKENS),
    _clip("DPPO mask", "2602.04879", "masked where a probability moved by .2", f.dppo_tv),
)
_VERL, _TRL_K3, _TRL_GRPO = "verl, use_kl_in_reward", "TRL, use_bias_correction_kl", "TRL, loss_type grpo"
_LOG_U, _REVERSE = "log u of each token, in its advantage", partial(in_the_loss, rloo, u.log_u)
_ENTROPY, _ENTROPIES = partial(in_the_loss, rloo, u.log_pi), partial(in_the_reward, u.others, u.log_pi)
_KL, _SCALED = partial(in_the_reward, u.others, u.log_u), partial(in_the_reward, u.normalised, u.log_u)
_PENALISED = _repairs(
    ("entropy bonus, token", "1602.01783", "-log pi of each", _ENTROPY, SUM, STANDARD),
    ("entropy bonus, answer", "1702.08165", "-log pi", _ENTROPIES, SUM, STANDARD),
    ("KL in the reward", "2009.01325", "-log u", _KL, SUM, STANDARD),
    ("KL in the reward, scaled", _VERL, "over the std", _SCALED, TOKENS),
    ("k2 or corrected k3", _TRL_K3, _LOG_U, _REVERSE),
    ("corrected k3, answer means", _TRL_GRPO, f"{_LOG_U}, averaged", _REVERSE, MEANS),
    ("k3 in the loss", "2402.03300", "1 - 1/u of each token", partial(in_the_loss, rloo, u.forward)),
    ("GRPO with k3", "2402.03300", "GRPO with that", partial(in_the_loss, GROUPED, u.forward), MEANS),
    ("FRPO", "2601.10201", "GRPO, log u to go", partial(in_the_loss, GROUPED, u.log_u_to_go), SUM, SUMMARY),
    knob=True,
)
_REHEARSED = (
    _rehearsed("DPH-F", "-log u on stored correct answers", FORWARD_KL),
    _rehearsed("DPH-JS", "JS on stored correct answers", JENSEN_SHANNON),
    _rehearsed("DPH-alpha", "alpha = .2 on stored correct answers", alpha_divergence(0.2)),
)


def _alone(problem: Any, log_pi: Any, knob: float) -> Any:
    return rehearsal(FORWARD_KL, problem, log_pi, 1.0)


_FOUND = "-log pi on correct answers that the run found, each once"
_REPLAY = "replay of found answers", "remax-rl 0.1.1", _FOUND, _RLOO, SUM, SUMMARY
_REPLAYED = _repairs(_REPLAY, knob=True, stored=u.replay)
_TARGETED = _repairs(
    (
        "alpha-DPG",
        "2512.05962",
        "((p_*/pi)^.5 - 1)/.5; its code's alpha is 1 less this one",
        partial(u.dpg, 0.5),
    ),
    ("KL-DPG", "2302.08215", "p_*/pi - 1", partial(u.dpg, 1.0)),
)
_STORED, _NOTHING = "-log pi on the base's correct answers, nothing else", partial(weighted, 0.0, 0.0)
_ALONE = _repairs(("rejection fine-tuning", "2308.01825", _STORED, _NOTHING, SUM, STANDARD), stored=_alone)
_BY_RANK, _BY_COUNT = "GRPO of r (1 - .25 rank/G), likelier ranks higher", "the number of equal answers"
_ADDED, _SHARED = (
    "GRPO, and .2 (-log q - H(q)) if correct",
    "GRPO, a fifth of the correct answers' part by 1/q",
)
_SETS, _APART = "mean reward times share of different answers", "GRPO of r (1 + .2 d), d of the others differ"
_BAND, _OVER = "GRPO without the tokens of covariance 1 to 5, all of them", partial(shaped, u.by_cluster)
_SHAPED = _repairs(
    ("unlikeliness", "2506.02355", _BY_RANK, partial(shaped, u.by_rank), MEANS, CODE),
    ("uniqueness", "2601.08763", f"GRPO over {_BY_COUNT}", u.uniqueness, MEANS, SUMMARY),
    ("uniqueness, in the reward", "2601.08763", f"GRPO of r over {_BY_COUNT}", _OVER, MEANS, SUMMARY),
    ("UCPO, added", "2605.00365", _ADDED, partial(u.ucpo_added, 0.2), TOKENS, CODE),
    ("UCPO", "2605.00365", _SHARED, partial(u.ucpo, 0.2), TOKENS, CODE),
    ("polychromic", "2509.25424", _SETS, u.polychromic, SUM, SUMMARY),
    ("DIVER", "2509.26209", _APART, partial(shaped, u.by_others), TOKENS, CODE),
    ("Clip-Cov", "2505.22617", _BAND, u.clip_cov, TOKENS),
)
REPAIRS: tuple[Repair, ...] = (
    *(*_OF_REWARDS, *_CLIPPED, *_PENALISED, *_REHEARSED, *_REPLAYED, *_TARGETED, *_ALONE, *_SHAPED),
)
"""Every method of the atlas."""
