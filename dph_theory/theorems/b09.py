"""B9. Fair comparison: equal curvature.

Near pi = ref every f-divergence is f''(1)/2 times chi-squared: coefficients are to be compared at equal eta
f''(1). Then the direction of the divergence matters under a weak penalty and hardly under a strong one.
"""

import numpy as np

from ..binary_reward import mu_by_forward_kl, mu_from_beta
from ..divergences import (
    CHI_SQUARED,
    COMPARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    REVERSE_KL,
    alpha_divergence,
    each,
)
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, simplex, uniform
from ..statement.theorem import neighbour, theorem


def stepped(ref: Values, q: Values, step: Values) -> Values:
    """The policy (1-e) ref + e q, at the step e from the reference towards q."""
    return (1 - trailing(step, 1)) * ref + trailing(step, 1) * q


def distance_to_chi_squared(ref: Values, q: Values, step: Values) -> Values:
    # Divided by e^2, so that the two sides stay visible as e -> 0.
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda d: abs(d(pi, ref) - d.curvature / 2 * CHI_SQUARED(pi, ref)) / scale, COMPARED)


def same_coefficient(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda d: abs(d(pi, ref) - CHI_SQUARED(pi, ref) / 2) / scale, COMPARED)


def third_order(ref: Values, q: Values, step: Values) -> Values:
    # Taylor to second order with Lagrange's remainder f'''(xi) (u-1)^3/6: for the whole family
    # |f'''(xi)| <= 2 f''(1)/min(1, xi)^3, and u - 1 = e (q/ref - 1) >= -e, so that xi >= 1 - e.
    cube = (ref * abs(q / ref - 1) ** 3).sum(axis=-1)
    return each(lambda d: d.curvature / 3 * step / (1 - step) ** 3 * cube, COMPARED)


KEPT = example(ref=".2 .2 .6", q=".5 .3 .2", step=".01")

CURVATURE = theorem(
    "B9.curvature",
    "Near pi = ref every f-divergence is f''(1)/2 chi-squared",
    statement=r"\Big|D_f(\pi\|\pi_{ref}) - \tfrac{f''(1)}{2}\chi^2(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac{f''(1)}{3}\,\tfrac{\epsilon^3}{(1-\epsilon)^3}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    source=Source("ours"),
    on=chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9)),
    at_most=(distance_to_chi_squared, third_order),
    examples=(
        KEPT.giving(
            lhs=".0017124381331 .0008609125788 .0006445066568 .0012878443406",
            rhs=".0030154889636 .0030154889636 .0015077444818 .0030154889636",
        ),
        example(
            ref=".5 .02 .48",
            q=".3 .3 .4",
            step=".0001",
            lhs=".0018262739085 .000913456556 .000685012483 .0013699450991",
            rhs=".0018310233261 .0018310233261 .0009155116631 .0018310233261",
        ),
    ),
    false=(neighbour("coefficient 1/2 for all, as if f''(1) = 1 for Jensen-Shannon", lhs=same_coefficient),),
)


WEIGHTED = ((REVERSE_KL, 1), (JENSEN_SHANNON, 2), (alpha_divergence(0.5), 1))
"""How much of each divergence stands for one unit of the forward KL: 1/f''(1)."""


def difference(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    forward = FORWARD_KL(pi, ref)
    return each(lambda pair: abs(forward - pair[1] * pair[0](pi, ref)) / scale, WEIGHTED)


def equal_coefficients(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda pair: abs(FORWARD_KL(pi, ref) - pair[0](pi, ref)) / scale, WEIGHTED)


def coefficient_remainder(ref: Values, q: Values, step: Values) -> Values:
    # The second derivatives agree at u = 1, and the third ones differ by at most 1/min(1, xi)^4: for the
    # reverse KL by |2 - xi|/xi^3, for the other two by less.
    cube = (ref * abs(q / ref - 1) ** 3).sum(axis=-1)
    return trailing(step / (1 - step) ** 4 * cube / 6, 1)


COEFFICIENTS = theorem(
    "B9.coefficients",
    "Fair comparison: equal eta f''(1), so twice the eta for Jensen-Shannon, the same for alpha",
    statement=r"\Big|\mathrm{KL}(\pi_{ref}\|\pi) - \tfrac{1}{f''(1)} D_f(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac16\,\tfrac{\epsilon^3}{(1-\epsilon)^4}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    source=Source("ours"),
    on=chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9)),
    at_most=(difference, coefficient_remainder),
    examples=(
        KEPT.giving(lhs=".0008515255544 .0004234248196 .0004245937925", rhs=".0015229742241"),
        example(
            ref=".02 .58 .4",
            q=".4 .3 .3",
            step=".0001",
            lhs=".0022808048999 .0011398609831 .0011401317165",
            rhs=".0022884403330",
        ),
    ),
    false=(neighbour("the same eta for Jensen-Shannon, whatever the curvature", lhs=equal_coefficients),),
)


def scaled_gap(base_rate: Values, eta: Values) -> Values:
    return eta * (eta - 1) * gap(base_rate, eta)


def gap(base_rate: Values, eta: Values) -> Values:
    return abs(mu_by_forward_kl(base_rate, eta) - mu_from_beta(base_rate, eta))


def spread(base_rate: Values) -> Values:
    return base_rate * (1 - base_rate)


STRONG = theorem(
    "B9.strong",
    "Large KL coefficient eta: forward and reverse KL of equal curvature agree to order 1/eta^2",
    statement=r"|\mu_{fwd}(\eta) - \mu_{rev}(\eta)| \le \frac{A_0 A_1}{\eta(\eta - 1)},\quad \eta > 1",
    source=Source("ours"),
    on=chart(base_rate=rates(low=1e-6, high=1e-2), eta=log_uniform(1.001, 1e3)),
    at_most=(scaled_gap, spread),
    examples=(example(base_rate=".25", eta="10", lhs=".0433491874576", rhs=".1875"),),
    note="eta is the coefficient at curvature f''(1) = 1; B9.weak has the other end.",
    false=(
        neighbour("agreement to third order", lhs=lambda base_rate, eta: eta * scaled_gap(base_rate, eta)),
    ),
)


def gap_and_what_reverse_can_do(base_rate: Values, eta: Values) -> Values:
    difference = mu_by_forward_kl(base_rate, eta) - mu_from_beta(base_rate, eta)
    return difference + base_rate * np.exp(1 / eta)


WEAK = theorem(
    "B9.weak",
    "Small KL coefficient eta: forward KL lifts a rare success to 1 - eta, reverse KL by e^{1/eta}",
    statement=r"1 - \eta \le \mu_{fwd}(\eta) - \mu_{rev}(\eta) + A_1 e^{1/\eta}",
    source=Source("ours"),
    on=chart(base_rate=log_uniform(1e-15, 0.5), eta=uniform(0.02, 1)),
    at_most=(lambda eta: 1 - eta, gap_and_what_reverse_can_do),
    examples=(example(base_rate=".01", eta=".3", lhs=".7", rhs=".7639095340132"),),
    coq="weak_penalties",
    false=(
        neighbour("the reverse KL lifts it as far", rhs=lambda base_rate, eta: mu_from_beta(base_rate, eta)),
    ),
)
