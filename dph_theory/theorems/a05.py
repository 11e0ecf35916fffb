"""A5. Pass rate against beta.

KL control at strength beta ends at the tilted model p_beta (A4). Its pass rate mu, its shape and its
distance to the base are explicit: logit mu = logit A1 + 1/beta, p_beta = mu p_* + (1 - mu) p_0,
KL(p_beta||a) = kappa(mu) = kl(mu||A1), and kappa'(mu) = 1/beta.
"""

from functools import partial
from typing import Any

import numpy as np
import sympy

from ..binary_reward import bernoulli_kl, beta_from_mu, filtered, kappa, mu_from_beta, tilted, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values, trailing
from ..numeric.enclosures import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, rates, simplex
from ..statement.theorem import Claim, FalseStep, Kernel, ScalarForm, Steps, neighbour, proved
from ._boxes import (
    DROP,
    GAIN,
    LOG_ODDS,
    SHARE,
    TILTED_ODDS,
    Law,
    base_of,
    both_ways,
    kl_to_first,
    mass,
    over_two_verdicts,
    rate_before,
    tilted_law,
    tilted_odds,
)

SOURCE = Source("dymetman2026binary", "mu-beta")
CHART = chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3))
FOUR = example(base=".3 .2 .1 .4", valid=[True, True, False, False], beta=".5")


def validity_of_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(tilted(base, valid, beta), valid)


def validity_from_logit(base: Values, valid: Values, beta: Values) -> Values:
    return mu_from_beta(valid_mass(base, valid), beta)


def validity_steps() -> Steps:
    odds, x = sympy.symbols("odds x", positive=True)
    A1, A0 = 1 / (1 + odds), odds / (1 + odds)
    mu = A1 * x / (A0 + A1 * x)
    yield "All valid outcomes are weighted by x = e^(1/beta): their mass is A1 x, of the sum Z = A0 + A1 x."
    yield Claim("odds of the tilted model", mu / (1 - mu), equals=A1 / A0 * x)
    yield Claim("its logit", sympy.log(A1 / A0 * x), equals=sympy.log(A1 / A0) + sympy.log(x))
    yield FalseStep("odds that gain 1/beta", mu / (1 - mu), equals=A1 / A0 * (1 + sympy.log(x)))


def validities(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [(tilted_law(log_odds, gain)[0], 1 / (1 + tilted_odds(log_odds, gain)))]


VALIDITY = proved(
    "A5.validity",
    "The tilted model's validity: logit mu = logit A1 + 1/beta",
    statement=r"\operatorname{logit} p_\beta(Y_1) = \operatorname{logit} A_1 + 1/\beta",
    source=SOURCE,
    on=CHART,
    equal=(validity_of_tilted, validity_from_logit),
    kernel=Kernel("validity"),
    derivation=validity_steps,
    examples=(example(base=".25 .75", valid=[True, False], beta=".5", value=".7112345942276"),),
    reductions=over_two_verdicts(validities),
    false=(
        neighbour(
            "first-order gain, mu = A1 (1 + 1/beta)",
            rhs=lambda base, valid, beta: valid_mass(base, valid) * (1 + 1 / beta),
        ),
        neighbour("half the gain", rhs=lambda base, valid, beta: validity_from_logit(base, valid, 2 * beta)),
    ),
)


def mixture(base: Values, valid: Values, beta: Values) -> Values:
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    return mu * filtered(base, valid) + (1 - mu) * filtered(base, ~valid)


def mixture_with_base(base: Values, valid: Values, beta: Values) -> Values:
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    return mu * filtered(base, valid) + (1 - mu) * base


def mixture_steps() -> Steps:
    a, A1, A0, x = sympy.symbols("a A1 A0 x", positive=True)
    Z, odds = A0 + A1 * x, A1 / A0 * x
    mu = odds / (1 + odds)
    yield (
        "mu has the odds A1 x/A0, x = e^(1/beta) (A5.validity). A valid outcome has the mass mu a/A1 in the "
        "mixture and a x/Z in p_beta, Z = A0 + A1 x; an invalid one (1 - mu) a/A0 and a/Z."
    )
    yield Claim("a valid outcome", mu * a / A1, equals=a * x / Z)
    yield Claim("an invalid outcome", (1 - mu) * a / A0, equals=a / Z)
    yield FalseStep("an invalid outcome of the whole base", (1 - mu) * a, equals=a / Z)


def masses(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    # Outcomes of one verdict share its mass in the base's proportions, in both laws.
    (valid, invalid), failed = tilted_law(log_odds, gain), tilted_odds(log_odds, gain)
    mu = 1 / (1 + failed)
    return [(valid, mu), (invalid, failed * mu)]


MIXTURE = proved(
    "A5.mixture",
    "p_beta = mu p_* + (1-mu) p_0",
    statement=r"p_\beta = \mu\, p_* + (1-\mu)\, p_0",
    source=SOURCE,
    on=CHART,
    equal=(tilted, mixture),
    kernel=Kernel("mixture_of_tilted"),
    derivation=mixture_steps,
    given=("A5.validity",),
    examples=(FOUR,),
    reductions=over_two_verdicts(masses, "the masses of both verdicts, which outcomes share alike"),
    false=(neighbour("a mixture of p_* with the whole base", rhs=mixture_with_base),),
)


def distance_to_base(base: Values, valid: Values, beta: Values) -> Values:
    return REVERSE_KL(tilted(base, valid, beta), base)


def cost_of_validity(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = valid_mass(base, valid)
    return kappa(mu_from_beta(base_rate, beta), base_rate)


def exchanged(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = valid_mass(base, valid)
    return bernoulli_kl(base_rate, mu_from_beta(base_rate, beta))


def even_inside(base: Values, valid: Values, beta: Values) -> Values:
    """The KL of the policy of the same validity that is uniform inside Y1 instead."""
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    even = filtered(0 * base + 1 / trailing(base.sum(axis=-1) * base.shape[-1], 1), valid)
    return REVERSE_KL(mu * even + (1 - mu) * filtered(base, ~valid), base)


def cost_steps() -> Steps:
    A1, A0, x = sympy.symbols("A1 A0 x", positive=True)
    Z, odds = A0 + A1 * x, A1 / A0 * x
    mu = odds / (1 + odds)
    yield (
        "log(p_beta/a) is log x - log Z on Y1 and -log Z on Y0, x = e^(1/beta) and Z = A0 + A1 x: its mean "
        "under p_beta, of validity mu (A5.validity), is mu log x - log Z."
    )
    kl = mu * sympy.log(mu / A1) + (1 - mu) * sympy.log((1 - mu) / A0)
    yield Claim("which is kl(mu||A1)", kl, equals=mu * sympy.log(x) - sympy.log(Z))
    yield FalseStep("not so at the base rate", kl, equals=A1 * sympy.log(x) - sympy.log(Z))


def costs(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    base, law, failed = base_of(log_odds), tilted_law(log_odds, gain), tilted_odds(log_odds, gain)
    # log(p_b/a) is -log(A1 + A0 e^-gain) on the valid outcome, less the gain on the invalid one.
    partition = (base[0] + base[1] * (-gain).exp()).log()
    odds, surprise = (-log_odds).exp(), (1 + failed).log()
    valid = (1 + odds).log() - surprise
    invalid = (1 + 1 / odds).log() - surprise - log_odds - gain
    kl = (valid + failed * invalid) / (1 + failed)
    return [(-law[0] * partition - law[1] * (gain + partition), kl)]


COST = proved(
    "A5.cost",
    "KL(p_beta||a) = kappa(mu), the KL of two Bernoullis",
    statement=r"\mathrm{KL}(p_\beta\|a) = \kappa(\mu) = \mathrm{kl}(\mu\|A_1)",
    source=SOURCE,
    on=CHART,
    equal=(distance_to_base, cost_of_validity),
    kernel=Kernel("cost"),
    derivation=cost_steps,
    given=("A5.validity",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5", value=".4680105956619"), FOUR),
    reductions=over_two_verdicts(costs),
    false=(
        neighbour("kl with its arguments exchanged", rhs=exchanged),
        neighbour(
            "the KL in the other direction",
            lhs=lambda base, valid, beta: FORWARD_KL(tilted(base, valid, beta), base),
        ),
        neighbour("any policy of that validity", lhs=even_inside),
    ),
)


def supporting_line(base_rate: Values, beta: Values, mu: Values, steeper: float = 1) -> Values:
    """The line through (mu_b, kappa(mu_b)) with slope 1/beta, at mu."""
    contact = mu_from_beta(base_rate, beta)
    return kappa(contact, base_rate) + (mu - contact) * steeper / beta


def slope_steps() -> Steps:
    yield "Two terms, for valid and invalid: r is A1 or A0; m and c are mu and mu_b, or their complements."
    m, c, r = sympy.symbols("m c r", positive=True)
    bregman = m * sympy.log(m / r) - c * sympy.log(c / r) - (m - c) * sympy.log(c / r)
    yield Claim("kappa less its line is kl(mu||mu_b), termwise", bregman, equals=m * sympy.log(m / c))
    odds, x = sympy.symbols("odds x", positive=True)
    A1 = odds / (1 + odds)
    mu = odds * x / (1 + odds * x)
    gain = sympy.log(mu / A1) - sympy.log((1 - mu) / (1 - A1))
    yield Claim("log(c/r) differs by 1/beta between the two, x = e^(1/beta)", gain, equals=sympy.log(x))
    yield "So the line's slope is 1/beta; kl(mu||mu_b) is not negative, and zero at mu_b alone (L1.gibbs)."
    M, R = sympy.symbols("M R", positive=True)
    kl = M * sympy.log(M / R) + (1 - M) * sympy.log((1 - M) / (1 - R))
    slope = sympy.log(M / R) - sympy.log((1 - M) / (1 - R))
    domain = (M < 1, R < 1)
    yield Claim("kappa'(mu) = logit mu - logit A1", sympy.Derivative(kl, M), equals=slope, where=domain)
    yield FalseStep("kappa'(mu) = log(mu/A1)", sympy.Derivative(kl, M), equals=sympy.log(M / R), where=domain)


def from_contact(contact: Law, mu: Law, gain: Scalar) -> dict[str, Any]:
    return {"base_rate": rate_before(contact, gain), "beta": 1 / gain, "mu": mu[0]}


SLOPE = proved(
    "A5.slope",
    "kappa'(mu) = 1/beta: the line of slope 1/beta at p_beta supports the frontier",
    statement=r"\kappa'(\mu_\beta) = 1/\beta: \quad"
    r" \kappa(\mu) \ge \kappa(\mu_\beta) + \tfrac{1}{\beta} (\mu - \mu_\beta) \text{ for every } \mu",
    source=SOURCE,
    on=chart(base_rate=rates(), beta=log_uniform(1e-3, 1e3), mu=rates()),
    at_most=(supporting_line, kappa),
    kernel=Kernel("slope"),
    derivation=slope_steps,
    given=("L1.gibbs",),
    examples=(example(base_rate=".25", beta=".5", mu=".7"),),
    tight=example(base_rate=".25", beta=".5", mu=".7"),
    # Three digits would round a base rate near 1 to 1.
    digits=9,
    reductions=both_ways(
        "the gap is kl(mu || mu_b), whatever the gain",
        {"odds": TILTED_ODDS, "drop": DROP},
        from_contact,
        gap=lambda odds, drop: [kl_to_first(odds, drop)],
        factor=mass,
        zero=("drop", 2),
        free={"gain": GAIN},
    ),
    false=(
        neighbour(
            "a slope 2% larger",
            at=example(base_rate=".0001", beta=".09", mu=".9"),
            lhs=partial(supporting_line, steeper=1.02),
        ),
        neighbour("a slope 2% smaller", lhs=partial(supporting_line, steeper=0.98)),
    ),
)


def validity_reached(base: Values, valid: Values, share: Values) -> Values:
    mu = wanted(base, valid, share)
    return valid_mass(tilted(base, valid, beta_from_mu(valid_mass(base, valid), mu)), valid)


def wanted(base: Values, valid: Values, share: Values) -> Values:
    """A validity above the base's: A1 plus a share of A0."""
    return valid_mass(base, valid) + share * valid_mass(base, ~valid)


def reached_to_first_order(base: Values, valid: Values, share: Values) -> Values:
    """With the logit's slope at A1: 1/beta = (mu - A1)/(A1 A0)."""
    return valid_mass(tilted(base, valid, valid_mass(base, valid) / share), valid)


def reached_from_ratio(base: Values, valid: Values, share: Values) -> Values:
    gain = np.log(wanted(base, valid, share) / valid_mass(base, valid))
    return valid_mass(tilted(base, valid, 1 / gain), valid)


def inverse_steps() -> Steps:
    A_odds, more = sympy.symbols("A_odds more", positive=True)
    mu_odds = A_odds + more
    # e^(1/beta) with 1/beta = logit mu - logit A1.
    gain = sympy.exp(sympy.log(mu_odds) - sympy.log(A_odds))
    A1, A0 = A_odds / (1 + A_odds), 1 / (1 + A_odds)
    yield "In odds: those of mu are those of A1 and some more; the validity reached is A1 x/(A0 + A1 x)."
    reached = A1 * gain / (A0 + A1 * gain)
    yield Claim("the validity reached", reached, equals=mu_odds / (1 + mu_odds))
    yield Claim("beta is positive", sympy.log(1 + more / A_odds), ">0")
    yield FalseStep("the validity reached from A1 alone", A1 * gain, equals=mu_odds / (1 + mu_odds))


def wanted_share(log_odds: Scalar, share: Scalar) -> dict[str, Any]:
    return {"base": base_of(log_odds), "valid": [True, False], "share": share}


def rates_reached(log_odds: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    # mu = A0 (A1/A0 + share) and 1 - mu = A0 (1 - share); less is e^(-1/beta), their odds' ratio.
    odds = log_odds.exp()
    less = odds * (1 - share) / (odds + share)
    base = base_of(log_odds)
    return [(base[0] / (base[0] + base[1] * less), (odds + share) / (1 + odds))]


INVERSE = proved(
    "A5.inverse",
    "beta = 1/(logit mu - logit A1) reaches the validity mu",
    statement=r"\beta = \frac{1}{\operatorname{logit} \mu - \operatorname{logit} A_1}"
    r" \;\Rightarrow\; p_\beta(Y_1) = \mu, \quad A_1 < \mu < 1",
    source=SOURCE,
    # A share of A0 that vanished against A1 in rounding would leave no mu above A1.
    on=chart(base=simplex(4, spread=5), valid=masks(4), share=rates(low=1e-4)),
    equal=(validity_reached, wanted),
    kernel=Kernel("inverse", where=lambda base, valid, share: {"mu": wanted(base, valid, share)}),
    derivation=inverse_steps,
    # mu = .75, of odds 3, from a quarter, of odds 1/3.
    examples=(example(base=".25 .75", valid=[True, False], share="2/3", value=".75"),),
    # Three digits would round a share near 1 to 1.
    digits=9,
    reductions=(
        ScalarForm(
            "two outcomes, one valid",
            {"log_odds": LOG_ODDS, "share": SHARE},
            wanted_share,
            sides=rates_reached,
        ),
    ),
    false=(
        neighbour("to first order, 1/beta = (mu - A1)/(A1 A0)", lhs=reached_to_first_order),
        neighbour("1/beta = log(mu/A1)", lhs=reached_from_ratio),
    ),
)
