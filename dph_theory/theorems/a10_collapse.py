"""A10, third claim: with only Diracs fully valid, small beta selects the Dirac on the mode of a in Y1."""

from ..binary_reward import filtered
from ..numeric.balls import Values, normalised
from ..references import Source
from ..restricted import chosen_law, critical_beta, dirac_on_mode, projection, with_diracs
from ..statement.charts import chart, example, log_uniform, masks, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def base_mode(base: Values, valid: Values) -> Values:
    return dirac_on_mode(normalised(base), valid)


def projected_law(laws: Values, base: Values, valid: Values, fraction: Values | float) -> Values:
    family, base = with_diracs(normalised(laws)), normalised(base)
    return chosen_law(projection(family, base, valid, fraction * critical_beta(family, base, valid)), family)


THEOREM = Theorem(
    name="A10.collapse",
    title="If Diracs are the only fully valid members, small beta gives the Dirac on argmax_{Y1} a",
    source=Source("dymetman2026binary", "misspecification"),
    statement=r"\Pi \supseteq \{\delta_y\},\; \pi(Y_1) < 1 \text{ otherwise}:\quad"
    r" \pi_\beta = \delta_{\arg\max_{Y_1} a} \text{ for all small } \beta",
    relation=Relation.EQUAL,
    lhs=projected_law,
    rhs=base_mode,
    # Weights spread evenly, since near the uniform law two modes tie within rounding.
    instances=chart(
        laws=log_uniform(1e-3, 1, 2, 4),
        base=log_uniform(1e-3, 1, 4),
        valid=masks(4),
        fraction=uniform(0.01, 0.99),
    ),
    expected=Verdict.CERTIFIED,
    examples=(
        example(laws=[".3 .3 .2 .2"], base=".3 .2 .1 .4", valid=[True, True, False, False], fraction=".999"),
    ),
    false_neighbours=(
        neighbour(
            "the limit is the filtered model", rhs=lambda base, valid: filtered(normalised(base), valid)
        ),
        neighbour(
            "the Dirac on the base's mode over all outcomes",
            rhs=lambda base, valid: base_mode(base, valid | True),
        ),
        neighbour(
            "already at 1% above the critical beta",
            lhs=lambda laws, base, valid: projected_law(laws, base, valid, 1.01),
        ),
        near(0.01, base=(0.066, 0.0001)),
    ),
)
