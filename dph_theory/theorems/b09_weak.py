"""B9: with a small KL coefficient its direction decides what a rare success becomes."""

import numpy as np
import sympy

from ..binary_reward import mu_by_forward_kl, mu_from_beta
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def lifted_by_forward(eta: Values) -> Values:
    return 1 - eta


def gap_and_what_reverse_can_do(base_rate: Values, eta: Values) -> Values:
    difference = mu_by_forward_kl(base_rate, eta) - mu_from_beta(base_rate, eta)
    return difference + base_rate * np.exp(1 / eta)


def derivation() -> Claims:
    mu, a, eta, s = sympy.symbols("mu A1 eta s", positive=True)
    # The forward KL's validity (E1.forward) balances eta (A0/(1-mu) - A1/mu) = 1, that is
    # eta (mu - A1) = mu (1 - mu): it has 1 - mu = eta (1 - A1/mu), below eta whatever A1 is.
    balance = eta * ((1 - a) / (1 - mu) - a / mu)
    quadratic = eta * (mu - a) / (mu * (1 - mu))
    yield Claim("the balance", balance, equals=quadratic, where=(mu < 1,))
    yield Claim("1 - mu = eta - eta A1/mu", quadratic * (1 - mu), equals=eta - eta * a / mu, where=(mu < 1,))
    yield Claim("where the last term is positive", eta * a / mu, ">0")
    # The reverse KL multiplies the odds by e^{1/eta} = 1 + s: mu = A1 (1+s)/(1 + A1 s) <= A1 e^{1/eta}.
    yield Claim("reverse", a * (1 + s) - a * (1 + s) / (1 + a * s), ">0")


THEOREM = Theorem(
    name="B9.weak",
    title="Small KL coefficient eta: forward KL lifts a rare success to 1 - eta, reverse KL by e^{1/eta}",
    source=Source("ours"),
    statement=r"1 - \eta \le \mu_{fwd}(\eta) - \mu_{rev}(\eta) + A_1 e^{1/\eta}",
    relation=Relation.AT_MOST,
    lhs=lifted_by_forward,
    rhs=gap_and_what_reverse_can_do,
    instances=chart(base_rate=log_uniform(1e-15, 0.5), eta=uniform(0.02, 1)),
    expected=Verdict.PROVED,
    given=("E1.forward",),
    tight=True,
    examples=(example(base_rate=".001", eta=".5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the reverse KL lifts it as far", rhs=lambda base_rate, eta: mu_from_beta(base_rate, eta)),
        neighbour("2% more than 1 - eta", lhs=scaled(lifted_by_forward, 1.02)),
        near(-0.01, base_rate=(1e-06, 2e-08)),
    ),
)
