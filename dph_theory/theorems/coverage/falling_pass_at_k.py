"""Pass@1 up, pass@k down.

Pass@1 can rise while pass@k falls, but only where prompts share a policy: training moves mass to the strategy
that is best on average and loses the prompts that only others solve. With one prompt, or a policy for each,
it cannot. A prompt of type t comes with probability rho_t, the policy draws strategy s with probability q_s
whatever the type, and succeeds with probability c_ts, so that p_t = sum_s q_s c_ts. Shapes: q (...,
strategies), rho (..., types), success c (..., types, strategies), whole k and gain (...).
"""

from dataclasses import replace

import numpy as np

from ...coverage import exact_pass_at_k
from ...numeric.elementary import Values, add_axes, masked, minimisers, normalised
from ...references import Source
from ...verification.charts import Chart, Part, chart, example, integers, log_uniform, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem


def pass_rates(q: Values, success: Values) -> Values:
    """Pass rate p_t = sum_s q_s c_ts on each type, (..., types); q (..., 1 or types, strategies)."""
    rates = (q * success).sum(axis=-1)
    # Masses that sum to one within rounding may exceed it by an ulp.
    return np.minimum(rates, 1.0)


def mean_pass_at_k(rates: Values, rho: Values, k: Values) -> Values:
    """Mean Pass@k, (...), over types with frequencies rho and pass rates `rates`, both (..., types)."""
    return (rho * exact_pass_at_k(rates, add_axes(k, 1))).sum(axis=-1)


def strategy_rewards(rho: Values, success: Values) -> Values:
    """Mean success of each strategy, (..., strategies), over types of frequency rho (..., types)."""
    return (rho[..., None] * success).sum(axis=-2)


def trained(q: Values, reward: Values, gain: Values) -> Values:
    """Strategies' probabilities q e^{gain reward}, normalised, after training on `reward` for time `gain`.

    This is the natural-gradient flow of E_q[reward], and the optimum at KL coefficient 1/gain.
    """
    return normalised(q * np.exp(add_axes(gain, 1) * (reward - add_axes(np.max(reward, axis=-1), 1))))


def shared_pass_at_k(q: Values, rho: Values, success: Values, k: Values) -> Values:
    """Pass@k, (...), of one strategy distribution q (..., strategies), averaged over types by rho.

    `success` (..., types, strategies) has the probability that a strategy solves a type; rho has shape (...,
    types).
    """
    return mean_pass_at_k(pass_rates(q[..., None, :], success), rho, k)


def trained_pass_at_k(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Mean Pass@k over types, (...), after training q on the expected reward for a time `gain`.

    Arguments are those of `shared_pass_at_k`: q (..., strategies), rho (..., types), success (..., types,
    strategies).
    """
    return shared_pass_at_k(trained(q, strategy_rewards(rho, success), gain), rho, success, k)


def solved(types: int) -> Part:
    """0/1 success matrices (batch, types, types): strategy s solves type s but not the next type.

    So every type is solved by some strategy, and no strategy solves all types.
    """
    free = integers(0, 1, types, types)
    own = np.eye(types, dtype=bool)

    def from_cube(cube: np.ndarray) -> np.ndarray:
        return np.where(own, 1, np.where(np.roll(own, 1, axis=0), 0, free.from_cube(cube)))

    return replace(free, from_cube=from_cube)


def by_pass_at_1(q: Values, other: Values, rho: Values, success: Values, k: Values) -> tuple[Values, Values]:
    """Mean Pass@k of the two policies, each (...), the policy of lower Pass@1 first."""
    ones = [shared_pass_at_k(policy, rho, success, 1 + 0 * k) for policy in (q, other)]
    first, second = (shared_pass_at_k(policy, rho, success, k) for policy in (q, other))
    ordered = ones[0] < ones[1]
    return np.where(ordered, first, second), np.where(ordered, second, first)


def pass_at_k_of_worse(q: Values, other: Values, rho: Values, success: Values, k: Values) -> Values:
    return by_pass_at_1(q, other, rho, success, k)[0]


def pass_at_k_of_better(q: Values, other: Values, rho: Values, success: Values, k: Values) -> Values:
    return by_pass_at_1(q, other, rho, success, k)[1]


def single_instances(types: int) -> Chart:
    """Chart of two policies over three strategies, their success rates on `types` prompt types, and k."""
    return chart(
        q=simplex(3), other=simplex(3), rho=simplex(types), success=uniform(0, 1, types, 3), k=integers(2, 8)
    )


SINGLE = theorem(
    "One prompt: the policy of higher pass@1 has the higher pass@k",
    statement=r"p \le p' \;\Rightarrow\; 1-(1-p)^k \le 1-(1-p')^k",
    source=Source("ours", "shared strategies"),
    on=single_instances(types=1),
    at_most=(pass_at_k_of_worse, pass_at_k_of_better),
    examples=(
        example(q=".4 .3 .2 .1", other=".1 .3 .4 .2", rho="1 ", success=[".9 .2 .1 .4"], k=4).giving(
            lhs=".71601759", rhs=".92688384"
        ),
    ),
    coq="one_type",
    false=(
        neighbour(
            "with two types of prompts",
            at=example(
                q="9e-6 .999985 6e-6",
                other=".925 .005 .07",
                rho=".5 .5",
                success=[".2 0 .8", ".5 1 0"],
                k="8",
            ),
            instances=single_instances(types=2),
            examples=(),
        ),
    ),
)


TWO_STRATEGIES = example(q=".5 .5", rho=".6 .4", success=["1 0", "0 1"], k=2, gain=10)

SHARED = refuted(
    "Strategies shared by two prompts: training that raises pass@1 never lowers pass@k: refuted",
    statement=r"q_g \propto q\,e^{g w},\; w_s = \sum_t \rho_t c_{ts} \;\Rightarrow\;"
    r" \mathrm{pass@}k(q) \le \mathrm{pass@}k(q_g), \quad"
    r" \mathrm{pass@}k(q) = \sum_t \rho_t \bigl(1 - (1 - \sum_s q_s c_{ts})^k\bigr)",
    source=Source("ours", "shared strategies"),
    on=chart(
        q=simplex(2),
        rho=simplex(2),
        success=uniform(0, 1, 2, 2),
        k=integers(2, 8),
        gain=log_uniform(1e-2, 1e2),
    ),
    at_most=(shared_pass_at_k, trained_pass_at_k),
    examples=(TWO_STRATEGIES.giving(lhs=".75", rhs=".6811530009991"),),
    note="A small example: two types in proportion .6 to .4, two strategies each of which solves one type, "
    "q = (.5, .5). Training moves q to the first strategy: pass@1 tends from .5 to .6 and pass@2 "
    "from .75 to .6. With one prompt (falling_pass_at_k.single) or a policy of its own per type"
    " (falling_pass_at_k.conditioned) it holds.",
    false=(
        neighbour(
            "for pass@2",
            lhs=lambda q, rho, success, k: shared_pass_at_k(q, rho, success, 2 + 0 * k),
            rhs=lambda q, rho, success, k, gain: trained_pass_at_k(q, rho, success, 2 + 0 * k, gain),
        ),
    ),
)


def conditioned_pass_at_k(q: Values, rho: Values, success: Values, k: Values) -> Values:
    return mean_pass_at_k(pass_rates(q, success), rho, k)


def conditioned_after_training(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Mean Pass@k, (...), after each type's own policy is trained on that type's rewards for time `gain`.

    `q` (..., types, strategies) has the types' policies, success their strategies' pass rates, rho the
    frequencies.
    """
    return conditioned_pass_at_k(trained(q, success, gain[..., None]), rho, success, k)


def conditioned_on_mean_reward(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Mean Pass@k, (...), after each type's own policy is trained on the reward averaged over types.

    `q` and `success` have shape (..., types, strategies), rho (..., types), the training time `gain` (...).
    """
    reward = strategy_rewards(rho, success)[..., None, :]
    return conditioned_pass_at_k(trained(q, reward, gain[..., None]), rho, success, k)


CONDITIONED = theorem(
    "A policy of its own per prompt type: training by reward raises pass@k for every k",
    statement=r"q_t > 0,\; q_{t,g} \propto q_t\,e^{g c_t} \;\Rightarrow\;"
    r" \sum_t \rho_t\bigl(1-(1-p_t)^k\bigr) \le \sum_t \rho_t\bigl(1-(1-p_{t,g})^k\bigr)",
    source=Source("ours", "shared strategies"),
    on=chart(
        q=simplex(3, 2),
        rho=simplex(2),
        success=uniform(0, 1, 2, 3),
        k=integers(2, 8),
        gain=log_uniform(1e-2, 1e2),
    ),
    at_most=(conditioned_pass_at_k, conditioned_after_training),
    examples=(
        example(
            q=[".4 .3 .2 .1", ".1 .2 .3 .4"], rho=".6 .4", success=[".9 .2 .1 .4", ".1 .3 .8 .5"], k=3, gain=2
        ).giving(lhs=".8685756", rhs=".9614881508176"),
    ),
    coq="conditioned",
    false=(
        neighbour(
            "trained on the mean reward over types",
            at=example(
                q=[".4 .03 .57", ".2 .4 .4"], rho=".7 .3", success=[".9 .4 .4", ".03 .3 .7"], k="3", gain="50"
            ),
            rhs=conditioned_on_mean_reward,
        ),
    ),
)


def pass_at_1(q: Values, rho: Values, success: Values, gain: Values) -> Values:
    """Expected reward, (...), of the shared policy q after training for a time `gain`."""
    shared = trained(q, strategy_rewards(rho, success), gain)[..., None, :]
    return (rho * pass_rates(shared, success)).sum(axis=-1)


def pass_at_1_later(q: Values, rho: Values, success: Values, gain: Values, more: Values) -> Values:
    return pass_at_1(q, rho, success, gain + more)


def pass_at_1_of_first_type(q: Values, rho: Values, success: Values, gain: Values) -> Values:
    return pass_rates(trained(q, strategy_rewards(rho, success), gain), success[..., 0, :])


RISING = theorem(
    "Shared strategies trained by expected reward, to q e^{g w}: pass@1 is no lower at a larger g",
    statement=r"q > 0,\; q_g \propto q\,e^{g w},\; g < g' \;\Rightarrow\;"
    r" \sum_s q_g(s)\,w_s \le \sum_s q_{g'}(s)\,w_s",
    source=Source("ours", "shared strategies"),
    on=chart(
        q=simplex(3),
        rho=simplex(2),
        success=uniform(0, 1, 2, 3),
        gain=log_uniform(1e-2, 1e2),
        more=log_uniform(1e-2, 1e1),
    ),
    at_most=(pass_at_1, pass_at_1_later),
    examples=(
        example(q=".4 .3 .2 .1", rho=".6 .4", success=[".9 .2 .1 .4", ".1 .3 .8 .5"], gain=1, more=1).giving(
            lhs=".4440140698096", rhs=".463054761471"
        ),
    ),
    coq="training_rises",
    false=(
        neighbour(
            "on each type by itself",
            at=example(q=".3 .4 .3", rho=".09 .91", success=[".4 .8 .08", ".4 .2 .9"], gain=".4", more="7"),
            lhs=pass_at_1_of_first_type,
            rhs=lambda q, rho, success, gain, more: pass_at_1_of_first_type(q, rho, success, gain + more),
        ),
    ),
)


def best_reward(rho: Values, success: Values) -> Values:
    return np.max(strategy_rewards(rho, success), axis=-1)


def leftover(q: Values, rho: Values, success: Values, gain: Values) -> Values:
    """Upper bound (...) on the mass outside the best strategy after training: ((1-q)/q) e^{-gain gap}.

    `q` (..., strategies) is the base; gap is the reward that the second-best strategy lacks.
    """
    w = strategy_rewards(rho, success)
    best = np.arange(w.shape[-1]) == np.argmax(minimisers(-w), axis=-1)[..., None]
    odds = masked(q, ~best).sum(axis=-1) / masked(q, best).sum(axis=-1)
    gap = np.min(np.where(best, 1.0, np.max(w, axis=-1)[..., None] - w), axis=-1)
    return np.minimum(odds * np.exp(-gain * gap), 1.0)


def lower_ends(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Lower bound w* (1 - d^k), d the leftover mass, and Pass@k after training for `gain`; (..., 2)."""
    d, w = leftover(q, rho, success, gain), best_reward(rho, success)
    return np.stack([w * (1 - d**k), trained_pass_at_k(q, rho, success, k, gain)], axis=-1)


def upper_ends(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Pass@k after training, and its upper bound w* + (1-w*) (1 - (1-d)^k); (..., 2)."""
    d, w = leftover(q, rho, success, gain), best_reward(rho, success)
    return np.stack([trained_pass_at_k(q, rho, success, k, gain), w + (1 - w) * (1 - (1 - d) ** k)], axis=-1)


def without_draws(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    d, w = leftover(q, rho, success, gain), best_reward(rho, success)
    return np.stack([trained_pass_at_k(q, rho, success, k, gain), w + (1 - w) * d], axis=-1)


THREE_TYPES = example(
    q=".4 .3 .2 .1", rho=".5 .3 .2", success=["1 0 0 1", "0 1 0 1", "0 0 1 0"], k=2, gain=10
)

LIMIT = theorem(
    "Shared strategies trained to q e^{g w}, one best by a gap: bounds of pass@k about w* = max_s w_s",
    statement=r"q > 0,\; c_{ts} \in \{0,1\},\; w_s + \Delta w \le w^* \;(s \ne s^*),\; g \ge 0,\;"
    r" d = \min\bigl(1, \tfrac{1-q^*}{q^*}\,e^{-g\,\Delta w}\bigr):\quad"
    r" w^*(1-d^k) \le \mathrm{pass@}k(q_g) \le w^* + (1-w^*)\bigl(1-(1-d)^k\bigr),\quad w^* = \max_s w_s",
    source=Source("ours", "shared strategies"),
    note="Both bounds are w* up to terms that shrink as e^{-g Delta w}. Where two strategies are best"
    " together no gap is there: both have mass at every g, and pass@2 may be above pass@1.",
    on=chart(
        q=simplex(3, spread=4),
        rho=simplex(3, spread=4),
        success=solved(3),
        k=integers(1, 8),
        gain=log_uniform(1e-2, 1e3),
    ),
    at_most=(lower_ends, upper_ends),
    examples=(THREE_TYPES.giving(lhs=".639376858952 .7930674290794", rhs=".7930674290794 .9390776608623"),),
    coq="training_ends",
    false=(neighbour("the upper bound of a single draw for every k", at=TWO_STRATEGIES, rhs=without_draws),),
)


def bound_on_hardest(q: Values, success: Values, k: Values) -> Values:
    """Lower bound 1 - (1-m)^k on Pass@k, (...), with m the pass rate of q on its hardest type."""
    return 1 - (1 - np.min(pass_rates(q[..., None, :], success), axis=-1)) ** k


def trained_and_bound(q: Values, rho: Values, success: Values, k: Values) -> Values:
    """Pass@k when training ends, at any k, and the base's lower bound on its hardest type; (..., 2)."""
    return np.stack([best_reward(rho, success), bound_on_hardest(q, success, k)], axis=-1)


def full_and_base(q: Values, rho: Values, success: Values, k: Values) -> Values:
    """The base's coverage at infinite k, which is 1, and its Pass@k; (..., 2)."""
    base = shared_pass_at_k(q, rho, success, k)
    return np.stack([1 + 0 * base, base], axis=-1)


COVERAGE = theorem(
    "max_s w_s < 1 = lim_k pass@k of the base, where each type is solved by some strategy, none by all",
    statement=r"q, \rho > 0,\; \forall t\,\exists s\; c_{ts} = 1,\; \forall s\,\exists t\; c_{ts} = 0:\quad"
    r" \max_s w_s < 1,\qquad \mathrm{pass@}k(q) \ge 1 - (1 - \min_t p_t)^k \to 1",
    source=Source("ours", "shared strategies"),
    on=chart(q=simplex(3, spread=4), rho=simplex(3, spread=4), success=solved(3), k=integers(1, 64)),
    at_most=(trained_and_bound, full_and_base),
    examples=(THREE_TYPES.giving(lhs=".8 .36", rhs="1 .639"),),
    coq="base_covers",
    false=(
        neighbour(
            "the base beats the trained policy at every k",
            at=example(q=".9994 .0003 .0003", rho=".009 .491 .5", success=["1 0 0", "0 1 1", "0 0 1"], k="1"),
            lhs=best_reward,
            rhs=shared_pass_at_k,
        ),
    ),
)
