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
from ..trainers import advantages as published
from ..trainers import surrogates as f
from . import updates as u
from .updates import GROUPED, in_the_loss, in_the_reward, of_rewards, rehearsal, rloo, shaped, weighted

SUM, MEANS, TOKENS = "sequence_sum", "sequence_mean", "token_mean"
"""How tokens add up: as they are, over the answer's length, or over the mean length of the batch."""
STANDARD, CATALOGUE, CODE, SUMMARY = "standard form", "this package's audit", "released code", "summary"
"""From what a method's formula is known: everybody's, what `dph audit` restates, its code, or a summary."""


@dataclass(frozen=True)
class PublishedMethod:
    """One method, at its published setting; `read` says from what it is known."""

    name: str
    source: str
    note: str
    advantage: u.Formula
    reduction: str = SUM
    read: str = CATALOGUE
    knob: bool = False
    """Whether a coefficient is the method's own, to be taken to zero."""
    surrogate: f.Surrogate | None = None
    """A function of policy and sampler; None: the policy gradient itself."""
    updates: int = 1
    stored: u.StoredTerm | None = None
    """What stored correct answers of the base add."""


def _method(name: str, source: str, note: str, advantage: u.Formula, **fields: Any) -> PublishedMethod:
    """One method; a source that is a number is one of arXiv's, the other fields are `PublishedMethod`'s."""
    source = f"arXiv:{source}" if source[:4].isdigit() else source
    return PublishedMethod(name, source, note, advantage, **fields)


def _clip(name: str, source: str, note: str, surrogate: f.Surrogate, **fields: Any) -> PublishedMethod:
    """GRPO's advantage under a surrogate, four updates on a batch."""
    fields = {"reduction": MEANS, "surrogate": surrogate, "updates": 4, **fields}
    return _method(name, source, f"four updates on a batch; {note}", GROUPED, **fields)


def _stored_alone(
    name: str, source: str, note: str, divergence: FDivergence, **fields: Any
) -> PublishedMethod:
    """A divergence on stored correct answers of the base, and nothing of the policy's own answers."""
    stored = partial(_rehearsal_alone, divergence)
    return _method(name, source, note, partial(weighted, 0.0, 0.0), stored=stored, **fields)


def _rehearsal_alone(divergence: FDivergence, problem: Any, log_pi: Any, knob: float) -> Any:
    return rehearsal(divergence, problem, log_pi, 1.0)


_RLOO = of_rewards(published.leave_one_out)
# fmt: off
_OF_REWARDS = (
    _method("GRPO", "2402.03300", "(r - m)/s, tokens averaged", GROUPED, reduction=MEANS),
    _method("Dr. GRPO", "2503.20783", "r - m, tokens added up", of_rewards(published.mean_of_all)),
    _method("RLOO", "2402.14740", "r less the mean of the others", _RLOO),
    _method("REINFORCE++", "2501.03262", "(r - batch mean)/batch std", u.batch_normalised),
    _method("dynamic sampling", "2503.14476", "GRPO, equal groups replaced", u.dynamic_sampling,
            reduction=TOKENS),
    _method("MaxRL", "2602.02710", "(r - m)/m", of_rewards(published.over_the_mean)),
    _method("PKPO", "2505.15201", "gradient of pass@2, less the others",
            of_rewards(published.pkpo_leave_one_out)),
    _method("pass@k training", "2508.10751", "of pass@2, over its std",
            of_rewards(partial(published.pass_at_k_training, k=2))),
    _method("best minus second", "2503.19595", "max r - second, for the best",
            of_rewards(published.best_minus_second)),
    _method("F-GRPO", "2602.06717", "GRPO times 1 - m", u.focal, reduction=MEANS, read=SUMMARY),
    _method("positives only", "2506.01347", "r", partial(weighted, 1.0, 0.0), read=SUMMARY),
    _method("negatives only", "2506.01347", "r - 1", partial(weighted, 0.0, -1.0), read=SUMMARY),
    _method("W-REINFORCE", "2506.01347", ".1 or -1", partial(weighted, 0.1, -1.0), read=SUMMARY),
)
_CLIPPED = (
    _clip("PPO clip", "2402.03300", "ratio within .2", f.clip),
    _clip("clip-higher", "2503.14476", "ratio from .8 to 1.28", partial(f.clip, high=0.28), reduction=TOKENS),
    _clip("clip below alone", "2509.26114", "ratio from .8", partial(f.clip, high=1e9), read=SUMMARY),
    _clip("clip above alone", "2509.26114", "ratio to 1.2", partial(f.clip, low=1.0), read=SUMMARY),
    _clip("dual clip", "1912.09729", "ratio within .2, at most 3 if incorrect", partial(f.clip, dual=3.0)),
    _clip("GSPO", "2507.18071", "the answer's mean ratio from -.0003 to +.0004",
          partial(f.clip, low=3e-4, high=4e-4, level="sequence")),
    _clip("CISPO", "2506.13585", "ratio held, at most 1.28", partial(f.cispo, high=1.28), reduction=TOKENS),
    _clip("DPPO mask", "2602.04879", "masked where a probability moved by .2", f.dppo_tv),
)
_PENALISED = (
    _method("entropy bonus, token", "1602.01783", "-log pi of each", partial(in_the_loss, rloo, u.log_pi),
            read=STANDARD, knob=True),
    _method("entropy bonus, answer", "1702.08165", "-log pi",
            partial(in_the_reward, u.leave_one_out, u.log_pi), read=STANDARD, knob=True),
    _method("KL in the reward", "2009.01325", "-log u", partial(in_the_reward, u.leave_one_out, u.log_u),
            read=STANDARD, knob=True),
    _method("KL in the reward, scaled", "verl, use_kl_in_reward", "over the std",
            partial(in_the_reward, u.normalised, u.log_u), reduction=TOKENS, knob=True),
    _method("k2 or corrected k3", "TRL, use_bias_correction_kl", "log u of each token, in its advantage",
            partial(in_the_loss, rloo, u.log_u), knob=True),
    _method("corrected k3, answer means", "TRL, loss_type grpo",
            "log u of each token, in its advantage, averaged", partial(in_the_loss, rloo, u.log_u),
            reduction=MEANS, knob=True),
    _method("k3 in the loss", "2402.03300", "1 - 1/u of each token", partial(in_the_loss, rloo, u.forward),
            knob=True),
    _method("GRPO with k3", "2402.03300", "GRPO with that", partial(in_the_loss, GROUPED, u.forward),
            reduction=MEANS, knob=True),
    _method("FRPO", "2601.10201", "GRPO, log u to go", partial(in_the_loss, GROUPED, u.log_u_to_go),
            read=SUMMARY, knob=True),
)
_FROM_STORED = (
    _method("DPH, explored prompts", "2509.07430", "GRPO, tokens averaged, no divergence", GROUPED,
            reduction=TOKENS),
    _stored_alone("DPH-F, solved prompts", "2509.07430", "-log u on stored correct answers, nothing else",
                  FORWARD_KL),
    _stored_alone("DPH-JS, solved prompts", "2509.07430", "JS on stored correct answers, nothing else",
                  JENSEN_SHANNON),
    _stored_alone("DPH-alpha, solved prompts", "2509.07430",
                  "alpha = .2 on stored correct answers, nothing else", alpha_divergence(0.2)),
    _method("replay of found answers", "remax-rl 0.1.1",
            "-log pi on correct answers that the run found, each once", _RLOO, read=SUMMARY, knob=True,
            stored=u.replay),
)
_TARGETED = (
    _method("alpha-DPG", "2512.05962", "((p_*/pi)^.5 - 1)/.5; its code's alpha is 1 less this one",
            partial(u.dpg, 0.5)),
    _method("KL-DPG", "2302.08215", "p_*/pi - 1", partial(u.dpg, 1.0)),
    _stored_alone("rejection fine-tuning", "2308.01825",
                  "-log pi on the base's correct answers, nothing else", FORWARD_KL, read=STANDARD),
)
_SHAPED = (
    _method("unlikeliness", "2506.02355", "GRPO of r (1 - .25 rank/G), likelier ranks higher",
            partial(shaped, u.by_rank), reduction=MEANS, read=CODE),
    _method("uniqueness", "2601.08763", "GRPO over the number of equal answers", u.uniqueness,
            reduction=MEANS, read=SUMMARY),
    _method("uniqueness, in the reward", "2601.08763", "GRPO of r over the number of equal answers",
            partial(shaped, u.by_cluster), reduction=MEANS, read=SUMMARY),
    _method("UCPO, added", "2605.00365", "GRPO, and .2 (-log q - H(q)) if correct",
            partial(u.ucpo_added, 0.2), reduction=TOKENS, read=CODE),
    _method("UCPO", "2605.00365", "GRPO, a fifth of the correct answers' part by 1/q", partial(u.ucpo, 0.2),
            reduction=TOKENS, read=CODE),
    _method("polychromic", "2509.25424", "mean reward times share of different answers", u.polychromic,
            read=SUMMARY),
    _method("DIVER", "2509.26209", "GRPO of r (1 + .2 d), d of the others differ",
            partial(shaped, u.by_difference), reduction=TOKENS, read=CODE),
    _method("Clip-Cov", "2505.22617", "GRPO without the tokens of covariance 1 to 5, all of them", u.clip_cov,
            reduction=TOKENS),
)
# fmt: on
PUBLISHED_METHODS: tuple[PublishedMethod, ...] = (
    *_OF_REWARDS,
    *_CLIPPED,
    *_PENALISED,
    *_FROM_STORED,
    *_TARGETED,
    *_SHAPED,
)
"""Every method of the atlas."""
