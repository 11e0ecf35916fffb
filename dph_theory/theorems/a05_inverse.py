"""A5, fifth claim: the beta that reaches a wanted validity."""

from typing import Any

import numpy as np
import sympy

from ..binary_reward import beta_from_mu, tilted, valid_mass
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, masks, rates, simplex
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import LOG_ODDS, SHARE, base_of


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


def derivation() -> Claims:
    A_odds, more = sympy.symbols("A_odds more", positive=True)
    mu_odds = A_odds + more
    # e^(1/beta) with 1/beta = logit mu - logit A1.
    gain = sympy.exp(sympy.log(mu_odds) - sympy.log(A_odds))
    A1, A0 = A_odds / (1 + A_odds), 1 / (1 + A_odds)
    reached = A1 * gain / (A0 + A1 * gain)
    yield Claim("the validity reached", reached, equals=mu_odds / (1 + mu_odds))
    yield Claim("beta is positive", sympy.log(1 + more / A_odds), ">0")


def wanted_share(log_odds: Scalar, share: Scalar) -> dict[str, Any]:
    return {"base": base_of(log_odds), "valid": [True, False], "share": share}


def rates_reached(log_odds: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    # mu = A0 (A1/A0 + share) and 1 - mu = A0 (1 - share); less is e^(-1/beta), their odds' ratio.
    odds = log_odds.exp()
    less = odds * (1 - share) / (odds + share)
    base = base_of(log_odds)
    return [(base[0] / (base[0] + base[1] * less), (odds + share) / (1 + odds))]


THEOREM = Theorem(
    name="A5.inverse",
    title="beta = 1/(logit mu - logit A1) reaches the validity mu",
    source=Source("dymetman2026binary", "mu-beta"),
    statement=r"\beta = \frac{1}{\operatorname{logit} \mu - \operatorname{logit} A_1}"
    r" \;\Rightarrow\; p_\beta(Y_1) = \mu, \quad A_1 < \mu < 1",
    relation=Relation.EQUAL,
    lhs=validity_reached,
    rhs=wanted,
    # A share of A0 that vanished against A1 in rounding would leave no mu above A1.
    instances=chart(base=simplex(4, spread=5), valid=masks(4), share=rates(low=1e-4)),
    expected=Verdict.PROVED,
    # mu = .75, of odds 3, from a quarter, of odds 1/3.
    examples=(example(base=".25 .75", valid=[True, False], share="2/3"),),
    symbolic=derivation,
    # Three digits would round a share near 1 to 1.
    digits=9,
    reductions=(
        Reduction(
            "two outcomes, one valid",
            {"log_odds": LOG_ODDS, "share": SHARE},
            wanted_share,
            sides=rates_reached,
        ),
    ),
    false_neighbours=(
        neighbour("to first order, 1/beta = (mu - A1)/(A1 A0)", lhs=reached_to_first_order),
        neighbour("1/beta = log(mu/A1)", lhs=reached_from_ratio),
        near(0.01, share=(0.53, 0.0003)),
    ),
)
