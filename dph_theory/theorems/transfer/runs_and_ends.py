"""The effect of an advantage along a run, and the mixtures of strategies at its end.

Each form ascends one objective of the trained prompts, which bounds their pass rates from below while it does
not fall. At its maximum the mean's form (MaxRL) leaves no prompts unsolved that one strategy solves and that
weigh more than 1/(G-1). Divided by the std, several mixtures may be stable beside the best strategy alone.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import softmax

from ...coverage import exact_pass_at_k
from ...numeric.elementary import Values, add_axes
from ...transfer.retention import group_weighting, shared_objective, strategy_drive, trained_shares
from ...verification.charts import chart, example, integers, rates, simplex, uniform
from ...verification.statement import neighbour, theorem
from .._strategies import MAXRL, SOURCE, WITHIN_HALF, by_instance, sets, shared_lines, water_merits

SHAPED = group_weighting(16, "mean")


def floors_of_objective(rates: Values, size: Values) -> Values:
    """Mean over prompts of sum_{k<G} Pass@k/k over H_(G-1), and the product of all pass rates; (batch, 2)."""
    k = np.arange(1, 16)
    used = k < add_axes(size, 1)
    means = exact_pass_at_k(rates[:, None], k[:, None]).mean(axis=-1)
    harmonic = (used / k).sum(axis=-1)
    return np.stack([(used * means / k).sum(axis=-1) / harmonic, rates.prod(axis=-1)], axis=-1)


def bounded_rates(rates: Values, size: Values) -> Values:
    return np.stack(
        [exact_pass_at_k(rates, add_axes(size - 1, 1)).mean(axis=-1), rates.min(axis=-1)], axis=-1
    )


FLOORS = theorem(
    "A trained objective J that has not fallen bounds Pass@(G-1) (mean) or every pass rate (log) from below",
    statement=r"J = \overline{\textstyle\sum_{k<G} \mathrm{pass@}k/k}: \overline{\mathrm{pass@}(G-1)} \ge"
    r" \tfrac{J}{H_{G-1}};\quad J = \textstyle\sum_x \log V_x: V_x \ge e^J",
    source=SOURCE,
    on=chart(rates=rates(3, low=1e-3, high=1e-3), size=integers(2, 16)),
    at_most=(floors_of_objective, bounded_rates),
    examples=(example(rates=".5 .1 .02", size="8"),),
    note="The expected gradient, in any positive diagonal metric, raises the advantage's objective of the"
    " trained prompts at every time, in any model. So J may be that at the start: at pass rates .5, .1, .02"
    " and G = 8 Pass@7 stays above .3397, and with log V every rate above .001. Of k from G on, of held-out"
    " prompts and of runs compared at equal steps nothing follows.",
    false=(
        neighbour(
            "J/H_(G-1) bounds Pass@1",
            at=example(rates=".5 .1 .02", size="8"),
            rhs=lambda rates: np.stack([rates.mean(axis=-1), rates.min(axis=-1)], axis=-1),
        ),
    ),
)


def at_mean_maximum(members: Values, rho: Values) -> tuple[Values, Values]:
    """Shares (batch, strategies) that maximise MaxRL's objective at G = 16, and the success sets.

    `members` (batch, prompts, strategies) are coins for `sets`, rho (batch, prompts) the prompts'
    frequencies.
    """
    success, size = sets(members), members.shape[-1]
    total = {"type": "eq", "fun": lambda q: q.sum() - 1}

    def best(c: Values, weights: Values) -> Values:
        def loss(q: Values) -> tuple[float, Values]:
            rates = np.clip(c @ q, 0, 1)
            slope = (weights * SHAPED.weight(rates)) @ c
            return -float(SHAPED.objective(rates) @ weights), -slope

        start, bounds = np.full(size, 1 / size), [(0.0, 1.0)] * size
        options = {"ftol": 1e-15, "maxiter": 200}
        result = optimize.minimize(
            loss, start, jac=True, method="SLSQP", bounds=bounds, constraints=total, options=options
        )
        return np.clip(result.x, 0, 1)

    return by_instance(best, success, rho), success


def weight_of_strategies(members: Values, rho: Values) -> Values:
    """sum_x rho_x alpha_G(V_x) c_xr for each strategy r at `at_mean_maximum`, (batch, strategies)."""
    ends, success = at_mean_maximum(members, rho)
    rates = np.clip((success * ends[:, None]).sum(axis=-1), 0, 1)
    return ((rho * SHAPED.weight(rates))[..., None] * success).sum(axis=1)


def passes_at_maximum(members: Values, rho: Values, draws: int = 15) -> Values:
    ends, success = at_mean_maximum(members, rho)
    rates = np.clip((success * ends[:, None]).sum(axis=-1), 0, 1)
    return add_axes((rho * exact_pass_at_k(rates, draws)).sum(axis=-1), 1)


MEAN_SOLVES = theorem(
    "At the maximum of MaxRL's objective no strategy's unsolved prompts weigh more than 1/(G-1)",
    statement=r"\sum_x \rho_x\,\alpha_G(V_x)\,c_{xr} \le \sum_x \rho_x \bigl[1-(1-V_x)^{G-1}\bigr] \le 1"
    r" \text{ for every } r,\quad \alpha_G(0) = G-1",
    source=SOURCE,
    on=chart(members=uniform(0, 1, 3, 3), rho=simplex(3, spread=1)),
    at_most=(weight_of_strategies, passes_at_maximum),
    examples=(example(members=[".1 .9 .9", ".9 .1 .9", ".9 .9 .1"], rho=".5 .3 .2"),),
    tolerance=1e-4,
    floor=1.0,
    coq="maximum_solves",
    part="from the maximality along mixtures with r",
    share=0.001,
    note="Of P equal prompts and G > P + 1 none that a strategy solves is lost. But strategies are: with W"
    " on prompts 1, 2, 3 and three X_i on two of them and one of their own, rho = .2, .4/3, G = 16, the"
    " strategy W of most merit is lost here, where undivided and std keep it alone.",
    false=(neighbour("by Pass@1 in place of Pass@(G-1)", rhs=partial(passes_at_maximum, draws=1)),),
)


def moved(policy: Values, members: Values, rho: Values, form: str, step: float = 1e-5) -> Values:
    """Policies (batch, strategies) after a gradient step on a form's objective, in groups of 16.

    `members` (batch, prompts, strategies) are coins for `sets`; `form` is an advantage's divisor, such as
    "mean".
    """
    weighting = group_weighting(16, form)
    drive = by_instance(lambda q, c, w: strategy_drive(q, c, w, weighting), policy, sets(members), rho)
    return softmax(np.log(policy) + step * drive, axis=-1)


def gain(policy: Values, after: Values, members: Values, rho: Values, form: str) -> Values:
    weighting = group_weighting(16, form)
    return by_instance(
        lambda p, q, c, w: shared_objective(q, c, w, weighting) - shared_objective(p, c, w, weighting),
        *(policy, after, sets(members), rho),
    )


def gain_product(policy: Values, members: Values, rho: Values, forms: tuple[str, str]) -> Values:
    """Product of two objectives' gains, one by an undivided step and one by MaxRL's; over 1e-10, (batch,).

    `forms` names the objective that counts after each step; policy, members and rho are as in `moved`.
    """
    steps = (
        gain(policy, moved(policy, members, rho, form), members, rho, other)
        for form, other in zip(("none", "mean"), forms, strict=True)
    )
    return np.prod([*steps], axis=0) / 1e-10


def mean_objective_at(policy: Values, members: Values, rho: Values, form: str) -> Values:
    """MaxRL's objective (batch,) at the time when training with `form` reaches Pass@1 = .63.

    `policy` (batch, strategies) is the base; members, rho and form are as in `moved`.
    """
    times = np.linspace(0, 200, 2001)

    def reached(q: Values, c: Values, weights: Values) -> float:
        run = trained_shares(q, c, weights, group_weighting(16, form), times)
        values = shared_objective(run, c, weights, SHAPED)
        return float(np.interp(0.63, run @ (weights @ c), values))

    return by_instance(reached, policy, sets(members), rho)


TWO_WAYS = example(policy=".08 .47 .45", rho=".25 .25 .25 .25",
    members=[".1 .9 .9", ".1 .1 .9", ".1 .9 .9", ".9 .1 .9"])  # fmt: skip

EXCHANGE = theorem(
    "At one policy, per unit of another objective gained an objective's own ascent gains the most of it",
    statement=r"\partial_A J_B\;\partial_B J_A \le \partial_A J_A\;\partial_B J_B,\quad \partial_F"
    r" \text{ along } \nabla J_F:\quad \frac{\partial_B J_B}{\partial_B J_A} \ge"
    r" \frac{\partial_A J_B}{\partial_A J_A} \text{ where } \langle\nabla J_A, \nabla J_B\rangle > 0",
    source=SOURCE,
    on=chart(policy=simplex(3, spread=1), members=uniform(0, 1, 3, 3), rho=simplex(3, spread=1)),
    at_most=(partial(gain_product, forms=("mean", "none")), partial(gain_product, forms=("none", "mean"))),
    examples=(TWO_WAYS,),
    tolerance=1e-4,
    share=0.02,
    note="Along whole runs it is false: at trained Pass@1 .63 the undivided run of the example has more of"
    " MaxRL's own objective (2.8024) than MaxRL's run (2.7834).",
    false=(neighbour("along whole runs, at one trained Pass@1", at=TWO_WAYS,
        lhs=partial(mean_objective_at, form="none"), rhs=partial(mean_objective_at, form="mean")),),
)  # fmt: skip


def mean_and_distance(
    policy: Values, other: Values, members: Values, rho: Values, least: float = 1 / 8
) -> Values:
    """Mean objective of two policies plus `least` times their mean squared pass-rate gap; (batch,)."""

    def value(p: Values, q: Values, c: Values, weights: Values) -> float:
        both = shared_objective(np.stack([p, q]), c, weights, SHAPED)
        return float(both.mean() + least * np.square((p - q) @ c.T) @ weights)

    return by_instance(value, policy, other, sets(members), rho)


MAXIMISERS = theorem(
    "MaxRL's objective, G >= 3, is strictly concave in the trained pass rates: its maximisers share them",
    statement=r"\tfrac12\bigl(J(p) + J(q)\bigr) + \tfrac18 \sum_x \rho_x\,(V_x(p) - V_x(q))^2 \le"
    r" J\bigl(\tfrac{p+q}2\bigr)",
    source=SOURCE,
    on=chart(policy=simplex(3, spread=3), other=simplex(3, spread=3), members=uniform(0, 1, 3, 3),
        rho=simplex(3, spread=2)),
    at_most=(mean_and_distance, lambda policy, other, members, rho: by_instance(
        lambda q, c, w: shared_objective(q, c, w, SHAPED), (policy + other) / 2, sets(members), rho)),
    examples=(TWO_WAYS.but(other=".3 .3 .4"),),
    share=0.05,
    note="The policy itself need not be unique: strategies alike on the trained prompts keep the base's"
    " split. If some policy solves all trained prompts the maximisers of every form are these, since each J"
    " rises in every pass rate; what is divided by decides the way to them. In any run q_r <= (1 - Pass@1)/"
    "(share of the trained prompts that r fails).",
    false=(neighbour("with eight times that margin", lhs=partial(mean_and_distance, least=1.0),
        at=example(policy="1 0 0", other=".9 .1 0", rho="1 0 0", members=[".1 .9 .9"] * 3)),),
)  # fmt: skip


def leads(share: Values, merits: Values, rivals: Values) -> Values:
    """d/dt log of a strategy's share over an equal rival's, by plain and by natural gradient; (batch, 2).

    `share` (batch,) is the strategy's, `merits` (batch, 2) its prompt weight and each rival's, `rivals` their
    number; prompt weights are normalised to sum one.
    """

    def motion(q: float, rho: Values, number: Any) -> list[float]:
        policy = np.array([q] + [(1 - q) / number] * number)
        weights = np.array([rho[0]] + [rho[1]] * number)
        drive = strategy_drive(policy, np.eye(number + 1), weights / weights.sum(), WITHIN_HALF)
        return [d[0] - d[1] for d in (drive, drive / policy)]

    return by_instance(motion, share, merits, rivals.astype(int))


def leads_by_weight(share: Values, merits: Values, rivals: Values, divided: bool = True) -> Values:
    """Rates of `leads` from rho_j alpha(q_j) - rho_s alpha(q_s), or undivided from the merits; (batch, 2)."""
    alphas = [WITHIN_HALF.weight(q) if divided else 1.0 for q in (share, (1 - share) / rivals)]
    gap = merits[:, 0] * alphas[0] - merits[:, 1] * alphas[1]
    gap /= merits[:, 0] + rivals * merits[:, 1]
    return np.stack([share * (1 - share) * (1 + 1 / rivals) * gap, gap], axis=-1)


START = theorem(
    "Std-normalised, a strategy gains on m equal rivals iff rho_j alpha_G(q) > rho_s alpha_G((1-q)/m)",
    statement=r"\tfrac{d}{dt} \log\tfrac{q_j}{q_s} = c\,\bigl[\rho_j\,\alpha_G(q_j) -"
    r" \rho_s\,\alpha_G\bigl(\tfrac{1-q_j}m\bigr)\bigr],\quad c = q_j(1-q_j)\tfrac{m+1}m"
    r" \text{ (plain gradient)},\; 1 \text{ (natural)},\quad \rho_j + m\,\rho_s = 1",
    source=SOURCE,
    on=chart(share=rates(low=1e-2, high=1e-2), merits=uniform(0.1, 1, 2), rivals=integers(1, 6)),
    equal=(leads, leads_by_weight),
    examples=(
        example(share=".78", merits="1 .9", rivals="2", value=".0000736158942 .0002859980349"),
        example(share=".77", merits="1 .9", rivals="2", value="-.0003402433005 -.0012807954093"),
    ),
    # Rates that are nearly zero are compared with the weights, whose difference they are.
    floor=1.0,
    share=0.02,
    note="So the unstable level point is the threshold of starts in both metrics: .7783 here. With more than"
    " one kind of rival the metric decides too.",
    false=(neighbour("iff its merit is the larger", rhs=partial(leads_by_weight, divided=False),
        at=example(share=".77", merits="1 .9", rivals="2")),),
)  # fmt: skip


def lead_of_best(policy: Values, other: Values, rho: Values) -> Values:
    """MaxRL's objective at the better of two policies minus that at the other, (batch,)."""
    first, second = (shared_lines(q, rho, MAXRL) for q in (policy, other))
    return abs(first - second)


def approach(policy: Values, other: Values, rho: Values, step: float = 1e-6, plain: bool = False) -> Values:
    """Minus the derivative of KL(better || other) by a natural (or plain logit) gradient step; (batch,)."""
    better = shared_lines(policy, rho, MAXRL) >= shared_lines(other, rho, MAXRL)
    best, q = (np.where(better[:, None], *pair) for pair in ((policy, other), (other, policy)))
    drive = rho * MAXRL.weight(q)
    drive = q * (drive - (q * drive).sum(axis=-1, keepdims=True)) if plain else drive
    moved = softmax(np.log(q) + step * drive, axis=-1)
    return (best * (np.log(moved) - np.log(q))).sum(axis=-1) / step


NATURAL = theorem(
    "Natural gradient of MaxRL's objective: KL(q*||q) falls by at least J(q*) - J(q) a unit of time",
    statement=r"-\tfrac{d}{dt}\mathrm{KL}(q^*\|q_t) = \sum_x \rho_x\,\alpha_G(V_x)(V^*_x - V_x) \ge J(q^*) -"
    r" J(q_t)",
    source=SOURCE,
    on=chart(policy=simplex(4, spread=3), other=simplex(4, spread=3), rho=simplex(4, spread=2)),
    at_most=(lead_of_best, approach),
    examples=(example(policy=".7 .1 .1 .1", other=".1 .7 .1 .1", rho=".4 .3 .2 .1"),),
    tolerance=1e-4,
    floor=1.0,
    note="So a share never falls below the floor of its share at the end within KL(q*||q_0).",
    share=0.05,
    false=(
        neighbour(
            "the plain gradient of the logits",
            at=example(policy=".6 .2 .1 .1", other=".001 .001 .001 .997", rho=".4 .3 .2 .1"),
            rhs=partial(approach, plain=True),
        ),
    ),
)


def second_slopes(shares: Values) -> Values:
    """rho_s alpha'_G(q_s), (batch, strategies), at the weights rho that make `shares` stationary; G = 8."""
    merits, step = water_merits(shares, np.ones(shares.shape[-1]), WITHIN_HALF), 1e-6
    rise = WITHIN_HALF.weight(shares + step) - WITHIN_HALF.weight(shares - step)
    return merits * rise / (2 * step)


def rises_through_one(shares: Values) -> Values:
    """1 if the sum of stationary shares increases with the largest share, else 0; (batch,)."""
    slopes, best = second_slopes(shares), shares.argmax(axis=-1)
    return (slopes[np.arange(len(best)), best] * (1 / slopes).sum(axis=-1) > 0).astype(float)


def is_local_maximum(shares: Values) -> Values:
    """1 if the objective is strictly concave at `shares` along the simplex, else 0; (batch,)."""
    size = shares.shape[-1]
    away = np.linalg.svd(np.ones((1, size)))[2][1:]
    form = away @ (second_slopes(shares)[:, :, None] * away.T)
    return (np.linalg.eigvalsh(form).max(axis=-1) < 0).astype(float)


ENDS = theorem(
    "Std-normalised, disjoint: level shares are a local maximum iff T rises through 1 at the largest share",
    statement=r"T(q) = q + \sum_{s \ne j} \alpha_G^{-1}\bigl(\rho_j \alpha_G(q)/\rho_s\bigr),\; T(q_j) ="
    r" 1:\quad T'(q_j) = \rho_j\alpha_G'(q_j) \sum_s \frac{1}{\rho_s \alpha_G'(q_s)} > 0 \iff J \text{ has a"
    r" strict local maximum on the simplex}",
    source=SOURCE,
    on=chart(shares=simplex(3, spread=1.5)),
    equal=(rises_through_one, is_local_maximum),
    examples=(
        example(shares=".559827537143423 .220086231428289 .220086231428288", value="1"),
        example(shares=".778253723009782 .110873138495109 .110873138495109", value="0"),
    ),
    note="The check has G = 8; at G = 3 alpha_G is constant and T is not defined."
    " retention.retained_shares finds all of them on this curve, beside the best strategy alone. Merits"
    " 1, .9, .9 and G = 8 rest at .5598, .2201, .2201 and at 1, 0, 0; .7783, .1109, .1109 is level and"
    " unstable. From equal shares the plain gradient need not"
    " lead to the mixture: merits 1, .954, .803, .728, .631, .586, .442, .41, .342 lead to the best alone,"
    " and with the natural gradient to a mixture.",
    false=(
        neighbour(
            "every level point with a share above one half is unstable",
            lhs=lambda shares: (shares.max(axis=-1) <= 0.5).astype(float),
        ),
    ),
)
