"""E5. When the penalties agree.

Where one token decides whether an answer is correct, penalties on tokens and on whole answers converge
to one policy; and prompts that the policy cannot distinguish act as one prompt with their mean reward.
"""

from collections.abc import Callable

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL, alpha_divergence, each
from ..laws import sequence_law, token_law
from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import TREES, TWO_TOKENS, answers_of, tables, verifier

FORMS = (REVERSE_KL, FORWARD_KL, alpha_divergence(0.5))


def by_the_first(first: Values, valid: Values) -> Values:
    """The reward of the first token with the first second token, whatever the second is."""
    answers = verifier(first, valid)
    return np.broadcast_to(answers[..., :1], answers.shape)


def token_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_law, first, second, by_the_first(first, valid), beta)


def sequence_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_law, first, second, by_the_first(first, valid), beta)


def token_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_law, first, second, verifier(first, valid), beta)


def sequence_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_law, first, second, verifier(first, valid), beta)


def _laws_of(
    law: Callable[..., list[np.ndarray]], first: Values, second: Values, verdicts: Values, beta: Values
) -> Values:
    return each(lambda f: answers_of(law(tables(first, second), verdicts, beta, f)), FORMS)


LAST = theorem(
    "E5.last",
    "Where the first token decides, token and sequence penalties have one stationary policy, for every f",
    statement=r"v(y) = v(y_1) \;\Rightarrow\; \text{the token penalty's policy is the whole answer's}",
    source=Source("ours", "stationary policies"),
    on=TREES,
    equal=(token_laws, sequence_laws),
    examples=(TWO_TOKENS,),
    share=0.1,
    false=(neighbour("decided by both tokens", lhs=token_laws_of_both, rhs=sequence_laws_of_both),),
)


def objective(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    """Mean over both prompts of E_q v - beta KL(q || a), over beta."""
    return (valid_mass(q, one) + valid_mass(q, other)) / 2 / beta - REVERSE_KL(q, base)


def tilt(base: Values, one: Values, other: Values, beta: Values) -> Values:
    """a e^(mean reward/beta), not normalised."""
    gain = np.exp(trailing(1 / (2 * beta), 1))
    return base * np.where(one, gain, 1.0) * np.where(other, gain, 1.0)


def from_the_mean_tilt(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    weight = tilt(base, one, other, beta)
    return np.log(weight.sum(axis=-1)) - REVERSE_KL(q, normalised(weight))


def from_the_mean_of_tilts(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    law = (tilted(base, one, beta) + tilted(base, other, beta)) / 2
    return np.log(tilt(base, one, other, beta).sum(axis=-1)) - REVERSE_KL(q, law)


SHARED = theorem(
    "E5.shared",
    "Prompts that the policy cannot distinguish have one stationary policy, a e^(mean reward/beta)",
    statement=r"\tfrac1n\textstyle\sum_x E_q v_x - \beta\,\mathrm{KL}(q\|a) = \beta\log Z - \beta\,"
    r"\mathrm{KL}(q\|p),\quad p = a e^{\bar v/\beta}/Z",
    source=Source("ours", "stationary policies"),
    on=chart(q=simplex(4), base=simplex(4), one=masks(4), other=masks(4), beta=log_uniform(0.05, 10)),
    equal=(objective, from_the_mean_tilt),
    examples=(
        example(
            q=".3 .25 .25 .2",
            base=".3 .2 .1 .4",
            one=[True, True, False, False],
            other=[True, False, True, False],
            beta=".5",
            value=".9537708653149",
        ),
    ),
    coq="one_law_for_all",
    false=(neighbour("the mean of the prompts' own tilted models", rhs=from_the_mean_of_tilts),),
)
