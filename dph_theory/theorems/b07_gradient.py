"""B7: the policy gradient of the alpha-DPG reward descends the alpha-divergence to the filtered model."""

import sympy

from ..binary_reward import filtered
from ..divergences import ALPHAS, alpha_divergence, alpha_generator, each
from ..estimators import alpha_dpg_reward, reward_gradient
from ..fdivergence import u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def policy_gradient(pi: Values, base: Values, valid: Values) -> Values:
    return each(lambda a: reward_gradient(pi, alpha_dpg_reward(pi, base, valid, a)), ALPHAS)


def downhill(pi: Values, base: Values, valid: Values) -> Values:
    target = filtered(base, valid)
    return each(lambda a: -alpha_divergence(a).gradient(pi, target), ALPHAS)


def uphill(pi: Values, base: Values, valid: Values) -> Values:
    return -downhill(pi, base, valid)


def towards_base(pi: Values, base: Values) -> Values:
    return each(lambda a: -alpha_divergence(a).gradient(pi, base), ALPHAS)


def reversed_family(pi: Values, base: Values, valid: Values) -> Values:
    target = filtered(base, valid)
    return each(lambda a: -alpha_divergence(1 - a).gradient(pi, target), ALPHAS)


def derivation() -> Claims:
    # grad D_f = E_pi[f'(u) grad log pi] with u = pi/p_*, and scores have mean zero: it is enough that
    # R + f'(u) is the same at every outcome, here zero. On invalid outcomes u is infinite and u^-alpha zero.
    alpha = sympy.Symbol("alpha", positive=True)
    reward = (u**-alpha - 1) / alpha
    slope = sympy.Derivative(alpha_generator(alpha), u)
    yield Claim("f'(u) is -R at every outcome", slope, equals=-reward, where=(sympy.Ne(alpha, 1),))


THEOREM = Theorem(
    name="B7.gradient",
    title="The alpha-DPG reward's policy gradient is -grad D_alpha(pi || p_*)",
    source=Source("kruszewski2026whatever"),
    statement=r"E_\pi[R\,\nabla\log\pi] = -\nabla D_{f_\alpha}(\pi\|p_*),\quad"
    r" R(y) = \tfrac{1}{\alpha}\big((p_*(y)/\pi(y))^\alpha - 1\big)",
    relation=Relation.EQUAL,
    lhs=policy_gradient,
    rhs=downhill,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".2 .3 .5", base=".3 .2 .5", valid=[True, True, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the sign turned", rhs=uphill),
        neighbour("the target is the base, not the filtered model", rhs=towards_base),
        neighbour("alpha and 1 - alpha exchanged", rhs=reversed_family),
        masses_clamped("base", 2e-11),
    ),
)
