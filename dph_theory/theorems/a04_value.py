"""A4, third claim: the maximum is beta log Z, which is mu - beta kappa(mu)."""

import numpy as np
import sympy

from ..binary_reward import kappa, log_partition, mu_from_beta, tilted, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def objective_at_tilted(base: Values, valid: Values, beta: Values) -> Values:
    """Computed on the whole policy, and on its validity alone."""
    policy, base_rate = tilted(base, valid, beta), valid_mass(base, valid)
    whole = valid_mass(policy, valid) - beta * REVERSE_KL(policy, base)
    mu = mu_from_beta(base_rate, beta)
    return np.stack([whole, mu - beta * kappa(mu, base_rate)], axis=-1)


def scaled_log_partition(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(beta * log_partition(valid_mass(base, valid), beta), 1)


def validity(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(mu_from_beta(valid_mass(base, valid), beta), 1)


def derivation() -> Claims:
    # log mu = log A1 + 1/b - log Z and log(1-mu) = log A0 - log Z, so that kappa = mu/b - log Z.
    A1, A0, beta = sympy.symbols("A1 A0 beta", positive=True)
    Z = A0 + A1 * sympy.exp(1 / beta)
    mu, nu = A1 * sympy.exp(1 / beta) / Z, A0 / Z
    log_mu_ratio, log_nu_ratio = 1 / beta - sympy.log(Z), -sympy.log(Z)
    yield Claim("log(mu/A1)", sympy.log(mu / A1), equals=log_mu_ratio)
    yield Claim("log((1-mu)/A0)", sympy.log(nu / A0), equals=log_nu_ratio)
    cost = mu * log_mu_ratio + nu * log_nu_ratio
    yield Claim("mu - beta kappa(mu) = beta log Z", mu - beta * cost, equals=beta * sympy.log(Z))


THEOREM = Theorem(
    name="A4.value",
    title="The optimum with a KL penalty is beta log Z = mu - beta kappa(mu)",
    source=Source("dymetman2026binary", "KL control"),
    statement=r"\max_q \mathbb{E}_q v - \beta\,\mathrm{KL}(q\|a) = \beta \log Z_\beta"
    r" = \mu - \beta\,\kappa(\mu)",
    relation=Relation.EQUAL,
    lhs=objective_at_tilted,
    rhs=scaled_log_partition,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    given=("A4.unique",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the cost of validity forgotten", rhs=validity),
        neighbour(
            "log Z in place of beta log Z",
            rhs=lambda base, valid, beta: trailing(log_partition(valid_mass(base, valid), beta), 1),
        ),
        masses_clamped("base", 2e-11),
    ),
)
