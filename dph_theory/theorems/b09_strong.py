"""B9: with a large KL coefficient the direction of the KL hardly matters, at equal curvature."""

from ..binary_reward import mu_by_forward_kl, mu_from_beta
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled


def scaled_gap(base_rate: Values, eta: Values) -> Values:
    return eta * (eta - 1) * gap(base_rate, eta)


def gap(base_rate: Values, eta: Values) -> Values:
    return abs(mu_by_forward_kl(base_rate, eta) - mu_from_beta(base_rate, eta))


def spread(base_rate: Values) -> Values:
    return base_rate * (1 - base_rate)


THEOREM = Theorem(
    name="B9.strong",
    title="Large KL coefficient eta: forward and reverse KL of equal curvature agree to order 1/eta^2",
    source=Source("ours"),
    statement=r"|\mu_{fwd}(\eta) - \mu_{rev}(\eta)| \le \frac{A_0 A_1}{\eta(\eta - 1)},\quad \eta > 1",
    relation=Relation.AT_MOST,
    lhs=scaled_gap,
    rhs=spread,
    instances=chart(base_rate=rates(low=1e-6, high=1e-2), eta=log_uniform(1.001, 1e3)),
    expected=Verdict.CERTIFIED,
    examples=(example(base_rate=".25", eta="10"),),
    false_neighbours=(
        neighbour(
            "at small coefficients too, as A0 A1/eta^2",
            lhs=lambda base_rate, eta: eta**2 * gap(base_rate, eta),
            instances=chart(base_rate=rates(low=1e-6, high=1e-2), eta=log_uniform(0.01, 1e3)),
        ),
        neighbour("half the bound", rhs=lambda base_rate: spread(base_rate) / 2),
        neighbour("agreement to third order", lhs=lambda base_rate, eta: eta * scaled_gap(base_rate, eta)),
        neighbour("a right side 2% smaller", rhs=scaled(spread, 0.98)),
    ),
    note="eta is the coefficient at curvature f''(1) = 1; B9.weak has the other end.",
)
