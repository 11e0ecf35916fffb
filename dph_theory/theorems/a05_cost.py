"""A5, third claim: the KL of the tilted model to the base depends on its validity alone."""

import sympy

from ..binary_reward import bernoulli_kl, filtered, kappa, mu_from_beta, tilted, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import base_of, over_two_verdicts, tilted_law, tilted_odds


def distance_to_base(base: Values, valid: Values, beta: Values) -> Values:
    return REVERSE_KL(tilted(base, valid, beta), base)


def cost_of_validity(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = valid_mass(base, valid)
    return kappa(mu_from_beta(base_rate, beta), base_rate)


def exchanged(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = valid_mass(base, valid)
    return bernoulli_kl(base_rate, mu_from_beta(base_rate, beta))


def even_inside(base: Values, valid: Values, beta: Values) -> Values:
    """The policy of the same validity that is uniform inside Y1 instead."""
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    even = filtered(0 * base + 1 / trailing(base.sum(axis=-1) * base.shape[-1], 1), valid)
    return REVERSE_KL(mu * even + (1 - mu) * filtered(base, ~valid), base)


def derivation() -> Claims:
    # On Y1 p_b/a = mu/A1 throughout, on Y0 (1-mu)/A0: summing p_b log(p_b/a) gives the two terms of kl. With
    # x = e^(1/b), mu = A1 x/Z these ratios are x/Z and 1/Z.
    A1, A0, x = sympy.symbols("A1 A0 x", positive=True)
    Z = A0 + A1 * x
    yield Claim("the ratio on a valid outcome", (A1 * x / Z) / A1, equals=x / Z)
    yield Claim("the ratio on an invalid outcome", (1 - A1 * x / Z) / A0, equals=1 / Z)


def costs(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    base, law, failed = base_of(log_odds), tilted_law(log_odds, gain), tilted_odds(log_odds, gain)
    # log(p_b/a) is -log(A1 + A0 e^-gain) on the valid outcome, less the gain on the invalid one.
    partition = (base[0] + base[1] * (-gain).exp()).log()
    odds, surprise = (-log_odds).exp(), (1 + failed).log()
    valid = (1 + odds).log() - surprise
    invalid = (1 + 1 / odds).log() - surprise - log_odds - gain
    kl = (valid + failed * invalid) / (1 + failed)
    return [(-law[0] * partition - law[1] * (gain + partition), kl)]


THEOREM = Theorem(
    name="A5.cost",
    title="KL(p_beta||a) = kappa(mu), the KL of two Bernoullis",
    source=Source("dymetman2026binary", "mu-beta"),
    statement=r"\mathrm{KL}(p_\beta\|a) = \kappa(\mu) = \mathrm{kl}(\mu\|A_1)",
    relation=Relation.EQUAL,
    lhs=distance_to_base,
    rhs=cost_of_validity,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    reductions=over_two_verdicts(costs),
    false_neighbours=(
        neighbour("kl with its arguments exchanged", rhs=exchanged),
        neighbour(
            "the KL in the other direction",
            lhs=lambda base, valid, beta: FORWARD_KL(tilted(base, valid, beta), base),
        ),
        neighbour("any policy of that validity", lhs=even_inside),
        near(0.01, beta=(4.3, 0.02)),
    ),
)
