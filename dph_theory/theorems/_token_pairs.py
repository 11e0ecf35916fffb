"""Policy and reference over tokens: charts, examples, and divergences and losses by sequence and by token.

Strings have up to three tokens: symbols and, as the last token, an end after which only it follows.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..binary_reward import filtered
from ..divergences import JENSEN_SHANNON, REVERSE_KL, alpha_divergence, stacked
from ..fdivergence import FDivergence
from ..numeric.elementary import Values
from ..tokens import Tables, mean, sequences
from ..verification.charts import Chart, Part, chart, example, masks, simplex, uniform
from ._policies import expected_update

RatioLoss: TypeAlias = Callable[[Values], Values]
"""A loss of the ratio u = pi/base at samples from the base."""


def two_tables(
    pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> dict[str, list[Values]]:
    """Parts pi_tokens and ref_tokens: next-token tables (first token; second given first) of two policies."""
    return {"pi_tokens": [pi_first, pi_second], "ref_tokens": [ref_first, ref_second]}


TWO_TOKENS = chart(
    pi_first=simplex(3, zeros=True),
    pi_second=simplex(3, 3, zeros=True),
    ref_first=simplex(3, zeros=True),
    ref_second=simplex(3, 3, zeros=True),
).deriving(two_tables)
"""Policy and reference over two tokens of three symbols: the first token's rows, and the second's."""
BRANCH_AT_FIRST = example(
    pi_first=".9 .1", pi_second=[".9 .1", ".5 .5"], ref_first=".1 .9", ref_second=[".1 .9", ".5 .5"]
)
"""Policy and reference differ after the first symbol only, which the policy prefers and ref avoids."""
BRANCH_AT_SECOND = example(
    pi_first=".9 .1", pi_second=[".5 .5", ".9 .1"], ref_first=".1 .9", ref_second=[".5 .5", ".1 .9"]
)
"""Policy and reference differ after the second symbol only, which the policy avoids and ref prefers."""
INDEPENDENT = chart(
    **{name: simplex(3, zeros=True) for name in ("pi_first", "pi_second", "ref_first", "ref_second")}
)
"""Two distributions of two independent tokens."""
INDEPENDENT_PAIR = example(
    pi_first=".9 .05 .05", pi_second=".8 .1 .1", ref_first=".1 .7 .2", ref_second=".2 .2 .6"
)
TWO_ALPHAS = (0.25, 0.5)
JS_AND_ALPHAS = (JENSEN_SHANNON, *map(alpha_divergence, TWO_ALPHAS))


def possible(tokens: int) -> np.ndarray:
    """Mask (tokens^3,) of the triples that are strings: after the last symbol, the end, only it follows."""
    end = tokens - 1
    triples = itertools.product(range(tokens), repeat=3)
    return np.array([end not in triple[:2] or triple[1:] == (end, end) for triple in triples])


def string_tables(first: Values, second: Values, third: Values) -> list[Values]:
    """Next-token tables of all triples, from the tables of prefixes that have not ended.

    `first` has shape (batch, tokens), `second` (batch, words, tokens), `third` (batch, words, words, tokens),
    where tokens = words + 1 is with the end symbol.
    """
    return [first, _and_after_end(second), _and_after_end(third)]


def _and_after_end(table: Values) -> Values:
    for axis in range(1, table.ndim - 1):
        none = 0 * table.take([0], axis)
        none[..., -1] += 1
        table = np.concatenate([table, none], axis)
    return table


def string_parts(role: str, symbols: int, zeros: bool) -> dict[str, Part]:
    """Chart parts {role}_first, _second, _third: random next-token tables of prefixes that have not ended."""
    prefixes = {"first": (), "second": (symbols,), "third": (symbols, symbols)}
    return {f"{role}_{name}": simplex(symbols + 1, *before, zeros=zeros) for name, before in prefixes.items()}


def two_strings(
    pi_first: Values,
    pi_second: Values,
    pi_third: Values,
    ref_first: Values,
    ref_second: Values,
    ref_third: Values,
) -> dict[str, list[Values]]:
    """Parts pi_tokens and ref_tokens, the `string_tables` of two policies over strings of up to 3 tokens."""
    return {
        "pi_tokens": string_tables(pi_first, pi_second, pi_third),
        "ref_tokens": string_tables(ref_first, ref_second, ref_third),
    }


STRINGS = chart(**string_parts("pi", 2, True), **string_parts("ref", 2, True)).deriving(two_strings)
"""Policy and reference over strings of two symbols and an end, fifteen."""
PI_STRINGS: dict[str, Any] = {
    "pi_first": ".6 .3 .1",
    "pi_second": [".5 .4 .1", ".7 .2 .1"],
    "pi_third": [[".5 .3 .2", ".2 .6 .2"], [".3 .3 .4", ".6 .2 .2"]],
}
STRINGS_PAIR = example(
    **PI_STRINGS,
    ref_first=".3 .5 .2",
    ref_second=[".2 .5 .3", ".6 .3 .1"],
    ref_third=[[".4 .4 .2", ".3 .3 .4"], [".2 .6 .2", ".5 .3 .2"]],
)


def sampled_strings(
    pi_first: Values,
    pi_second: Values,
    pi_third: Values,
    base_first: Values,
    base_second: Values,
    base_third: Values,
    correct: Values,
) -> dict[str, Any]:
    """Parts: a policy and a base as `string_tables` and as distributions, and the mask `valid` of triples."""
    pi = string_tables(pi_first, pi_second, pi_third)
    base = string_tables(base_first, base_second, base_third)
    base_strings = sequences(base)
    valid = np.zeros(base_strings.shape, dtype=bool)
    valid[:, possible(base_first.shape[-1])] = correct
    return {"pi_tokens": pi, "base_tokens": base, "valid": valid, "pi": sequences(pi), "base": base_strings}


def sampled(symbols: int, zeros: bool) -> Chart:
    """Chart of a policy and a base over strings of that many symbols and an end, with a verifier."""
    parts = string_parts("pi", symbols, zeros) | string_parts("base", symbols, False)
    strings = int(possible(symbols + 1).sum())
    return chart(**parts, correct=masks(strings)).deriving(sampled_strings)


SAMPLED = sampled(2, zeros=True)
"""Fifteen strings; the policy with tokens of no mass, too."""
SAMPLED_PAIR = example(
    **PI_STRINGS,
    base_first=".3 .5 .2",
    base_second=[".2 .5 .3", ".6 .3 .1"],
    base_third=[[".4 .4 .2", ".3 .3 .4"], [".2 .6 .2", ".5 .3 .2"]],
    correct=[string in (0, 2, 4, 6, 9, 12, 13) for string in range(15)],
)
REPEATED = sampled(1, zeros=False)
"""Four strings, a symbol up to three times and the end; all tokens with mass."""
REPEATED_PAIR = example(
    pi_first=".6 .4",
    pi_second=[".5 .5"],
    pi_third=[[".2 .8"]],
    base_first=".3 .7",
    base_second=[".2 .8"],
    base_third=[[".6 .4"]],
    correct=[True, False, True, False],
)

REWARDED = chart(
    ref_first=simplex(2, zeros=True),
    ref_second=simplex(2, 2, zeros=True),
    pi_first=simplex(2, zeros=True),
    pi_second=simplex(2, 2, zeros=True),
    reward=uniform(0, 1, 4),
).deriving(two_tables)
"""Two tokens of a vocabulary of two, and a reward in [0, 1] for each of the four sequences."""

FIRST_AND_SECOND = chart(
    first=simplex(3, spread=6.0),
    second=simplex(3, 3, spread=6.0),
    ref_first=simplex(3, spread=6.0),
    ref_second=simplex(3, 3, spread=6.0),
)
"""Policy and reference over two tokens, all with mass."""
FIRST_DIFFERS = example(
    first=".6 .4", second=[".5 .5", ".7 .3"], ref_first=".3 .7", ref_second=[".2 .8", ".6 .4"]
)


def first_token_gradient(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    """Gradient of KL(pi || ref) between whole answers in the first token's logits, (batch, symbols)."""
    pairs = (first, second), (ref_first, ref_second)
    answers, ref = ((a[..., None] * b).reshape(len(a), -1) for a, b in pairs)
    # A first logit moves all answers that begin with it alike.
    return REVERSE_KL.gradient(answers, ref).reshape(second.shape).sum(axis=-1)


def kl_to_come(first: Values, second: Values, ref_second: Values, factor: float = 1) -> Values:
    """Logit gradient pi(x)(K_x - E K), (..., symbols), K_x `factor` times the second token's KL after x."""
    return expected_update(first, factor * REVERSE_KL(second, ref_second))


def independent(first: Values, second: Values) -> Values:
    """Distribution (..., symbols^2) of two independent tokens with distributions (..., symbols)."""
    return sequences([first, second[..., None, :]])


def independent_divergences(
    divergences: Sequence[FDivergence],
    pi_first: Values,
    pi_second: Values,
    ref_first: Values,
    ref_second: Values,
) -> Values:
    """D_f(pi || ref) of pairs of independent tokens, (..., divergences), from tokens' (..., symbols)."""
    pi, ref = independent(pi_first, pi_second), independent(ref_first, ref_second)
    return stacked(lambda divergence: divergence(pi, ref), divergences)


def summed_divergences(
    divergences: Sequence[FDivergence],
    pi_first: Values,
    pi_second: Values,
    ref_first: Values,
    ref_second: Values,
) -> Values:
    """Sum of D_f(pi || ref) over two independent tokens, (..., divergences), from tokens' (..., symbols)."""
    first = stacked(lambda divergence: divergence(pi_first, ref_first), divergences)
    return first + stacked(lambda divergence: divergence(pi_second, ref_second), divergences)


def filtered_token_loss(loss: RatioLoss, pi_tokens: Tables, base_tokens: Tables, valid: Values) -> Values:
    """E_{p_*} sum_t loss(u_t), u_t = pi(y_t | y_<t)/a(y_t | y_<t): correct sequences, token by token.

    valid (..., symbols^length) marks the correct sequences; shape (...).
    """
    target, losses = filtered(sequences(base_tokens), valid), np.zeros(())
    with np.errstate(divide="ignore"):
        for ratio in correct_ratios(pi_tokens, base_tokens, valid):
            losses = losses[..., None] + loss(ratio)
    return mean(target, losses.reshape(target.shape))


def correct_ratios(pi_tokens: Tables, base_tokens: Tables, valid: Values) -> Iterator[Values]:
    """Yield pi/base at each position in the shape of its table; 1 at tokens of no correct sequence.

    `valid` (..., symbols^length) marks the correct sequences.
    """
    correct = valid.reshape(base_tokens[-1].shape)
    for t, (pi, base) in enumerate(zip(pi_tokens, base_tokens, strict=True)):
        later = tuple(range(t + 1 - len(base_tokens), 0))
        yield ratio_where(np.any(correct, axis=later), pi, base)


def ratio_where(where: Values, pi: Values, base: Values) -> Values:
    """Ratios pi/base where the mask is true and the base not zero, else 1; shape of `pi`."""
    where = where & (base != 0)
    return np.where(where, pi, 1.0) / np.where(where, base, 1.0)


def success_and_failure(tokens: Tables, reward: Values) -> Values:
    """Pair (J, 1-J) on a last axis, for rewards in [0, 1] of whole sequences, each without cancellation."""
    answers = sequences(tokens)
    return np.stack([(answers * reward).sum(axis=-1), (answers * (1 - reward)).sum(axis=-1)], axis=-1)
