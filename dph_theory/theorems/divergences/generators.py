"""Consequences of the generator of an f-divergence, and a misprinted one.

An f-divergence D_f(pi||ref) = E_ref[f(u)], u = pi/ref, is declared by one convex function with f(1) = 0. Its
value, sign, curvature, limits, the reversed form, and what merging outcomes does to it follow from f. A
generator that some summaries print for Jensen-Shannon has f(1) = -log 2 and gives equal distributions a
negative "divergence".
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

import numpy as np
import sympy

from ...divergences import (
    ALPHAS,
    CHI_SQUARED,
    FORWARD_KL,
    HELLINGER,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    SMOOTH,
    TOTAL_VARIATION,
    alpha_divergence,
    stacked,
)
from ...fdivergence import FDivergence
from ...numeric.elementary import Values
from ...references import Source
from ...verification.charts import chart, example, log_uniform, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._estimators import k2_of_ratio, normalised_generator
from .._policies import FAR_PAIR, PAIR_WITH_ZEROS, PI_REF

Generator: TypeAlias = Callable[[Values], Values]
GENERATORS = tuple(divergence.generator for divergence in SMOOTH)
EVERY = (*SMOOTH, TOTAL_VARIATION)
"""All named divergences and three alphas."""
PAIRS = chart(pi=simplex(3), ref=simplex(3))
"""Policy and reference over three outcomes."""
CHORDS = chart(v=log_uniform(1e-6, 1e6), w=log_uniform(1e-6, 1e6), t=uniform(0.01, 0.99))
"""Two ratios and a point between them."""
CHORD = example(v=".4", w="2.5", t=".3")


def mixture(v: Values, w: Values, t: Values) -> Values:
    return (1 - t) * v + t * w


def at_the_mixture(v: Values, w: Values, t: Values, generators: Iterable[Generator] = GENERATORS) -> Values:
    ratio = mixture(v, w, t)
    return stacked(lambda f: f(ratio), generators)


def on_the_chord(v: Values, w: Values, t: Values, generators: Iterable[Generator] = GENERATORS) -> Values:
    return stacked(lambda f: mixture(f(v), f(w), t), generators)


SQUARED_LOG_AS_GENERATOR = neighbour(
    "k2 = (log u)^2/2 as a generator",
    at=example(v="390000", w="2", t=".99"),
    lhs=partial(at_the_mixture, generators=(k2_of_ratio,)),
    rhs=partial(on_the_chord, generators=(k2_of_ratio,)),
)

CONVEX = theorem(
    "Every smooth generator is convex with f(1) = 0",
    statement=r"f((1-t)v + tw) \le (1-t) f(v) + t f(w), \quad f(1) = 0,\quad f \in \{-\log u,\; u\log u,\;"
    r" u\log u - (u+1)\log\tfrac{u+1}{2},\; \tfrac{u^{1-\alpha} - (1-\alpha)u - \alpha}{\alpha(\alpha-1)},"
    r"\; \ldots\}",
    source=Source("li2025choice", "generators"),
    on=CHORDS,
    at_most=(at_the_mixture, on_the_chord),
    examples=(
        CHORD.giving(
            lhs="-.0295588022415 .0304455663088 .0002216829465 .0002216869816 .0009 "
            ".0008737864078 .0004444681094 .0004433739631 .0004422838521",
            rhs=".3665162927497 .4306566439809 .1926015117086 .1958789571023 .927 .9 "
            ".3944831632719 .3917579142047 .3924291251103",
        ),
    ),
    coq="generators_convex",
    false=(SQUARED_LOG_AS_GENERATOR,),
)


def largest_term(pi: Values, ref: Values) -> Values:
    """Largest |ref g(u)| over outcomes, g = f - f'(1)(u-1), (..., divergences): 0 only if pi = ref."""
    return stacked(
        lambda divergence: np.max(abs(ref * normalised_generator(divergence, pi / ref)), axis=-1), EVERY
    )


def largest_plain_term(pi: Values, ref: Values) -> Values:
    return stacked(lambda divergence: np.max(abs(ref * divergence.generator(pi / ref)), axis=-1), EVERY)


def mean_generator(pi: Values, ref: Values) -> Values:
    # The declared generator itself, term by term of either sign.
    return stacked(lambda divergence: (ref * divergence.generator(pi / ref)).sum(axis=-1), EVERY)


NONNEGATIVE = theorem(
    "Of positive policies, an f-divergence is at least each outcome's term, and 0 only at pi = ref",
    statement=r"D_f(\pi\|\pi_{ref}) = E_{ref}[f(u)] \ge \max_y |\pi_{ref}(y)\, g(u_y)| \ge 0,\quad"
    r" g(u) = f(u) - f'(1)(u-1),\quad g > 0 \text{ off } 1,\; \pi > 0:\; D_f = 0 \iff \pi = \pi_{ref}",
    source=Source("li2025choice", "generators"),
    on=PAIRS,
    at_most=(largest_term, mean_generator),
    examples=(
        PI_REF.giving(
            lhs=(".161370563888 .254517744448 .0963723785109 .1 .9 .4 .224838866802 .2 .1790861000677 .15"),
            rhs=(
                ".3006928762565 .3537826013701 .1534056926223 .1583021731455 "
                "1.0504761904762 .6458333333333 .3322062413568 .316604346291 "
                ".3062620023888 .3"
            ),
        ),
    ),
    coq="nonnegative",
    false=(
        neighbour("the terms as printed, not normalised", lhs=largest_plain_term),
        neighbour(
            "summed over all outcomes but the last",
            rhs=lambda pi, ref: mean_generator(pi[..., :-1], ref[..., :-1]),
        ),
    ),
)


NAMED = (
    FORWARD_KL,
    REVERSE_KL,
    JENSEN_SHANNON,
    HELLINGER,
    CHI_SQUARED,
    NEYMAN_CHI_SQUARED,
    TOTAL_VARIATION,
    *map(alpha_divergence, ALPHAS),
)


def divergences(pi: Values, ref: Values, kinds: Iterable[FDivergence] = SMOOTH) -> Values:
    return stacked(lambda divergence: divergence(pi, ref), kinds)


def kl(p: Values, q: Values) -> Values:
    return (p * np.log(p / q)).sum(axis=-1)


def textbook(pi: Values, ref: Values) -> Values:
    middle = (pi + ref) / 2
    named = (
        kl(ref, pi),
        kl(pi, ref),
        kl(pi, middle) + kl(ref, middle),
        np.square(np.sqrt(pi) - np.sqrt(ref)).sum(axis=-1),
        (np.square(pi - ref) / ref).sum(axis=-1),
        (np.square(pi - ref) / pi).sum(axis=-1),
        abs(pi - ref).sum(axis=-1) / 2,
    )
    powers = [(1 - (pi ** (1 - a) * ref**a).sum(axis=-1)) / (a * (1 - a)) for a in ALPHAS]
    return np.stack([*named, *powers], axis=-1)


def jensen_shannon_itself(pi: Values, ref: Values) -> Values:
    middle = (pi + ref) / 2
    return (kl(pi, middle) + kl(ref, middle)) / 2


TEXTBOOK = theorem(
    "The generators give KL both ways, KL to the mixture twice, and the alpha closed form",
    statement=r"E_{ref}[-\log u] = \mathrm{KL}(\pi_{ref}\|\pi),\;"
    r" E_{ref}[u\log u] = \mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" E_{ref}[f_{JS}(u)] = \mathrm{KL}(\pi\|m) + \mathrm{KL}(\pi_{ref}\|m) = 2\,\mathrm{JS},"
    r"\; D_\alpha = \tfrac{1 - \sum \pi^{1-\alpha}\pi_{ref}^{\alpha}}{\alpha(1-\alpha)}\quad"
    r"(\pi > 0)",
    source=Source("li2025choice", "generators"),
    on=PAIRS,
    equal=(partial(divergences, kinds=NAMED), textbook),
    examples=(
        PI_REF.giving(
            value=(
                ".3006928762565 .3537826013701 .1534056926223 .1583021731455 "
                "1.0504761904762 .6458333333333 .3 .3322062413568 .316604346291 "
                ".3062620023888"
            )
        ),
    ),
    coq="textbook",
    false=(
        neighbour("directions exchanged", rhs=lambda pi, ref: textbook(ref, pi)),
        neighbour(
            "the Jensen-Shannon divergence once, not twice", lhs=JENSEN_SHANNON, rhs=jensen_shannon_itself
        ),
    ),
)


STATED = {
    "forward_kl": sympy.Integer(1),
    "reverse_kl": sympy.Integer(1),
    "jensen_shannon": sympy.Rational(1, 2),
    "hellinger": sympy.Rational(1, 2),
    "chi_squared": sympy.Integer(2),
    "neyman_chi_squared": sympy.Integer(2),
    **{f"alpha_{alpha:g}": sympy.Integer(1) for alpha in ALPHAS},
}


def second_difference(h: Values, eps: Values) -> Values:
    # f(1+s) + f(1-s) over s^2; the linear gauge cancels, so the normalised form, exact near 1, serves.
    step = h * eps
    sides = [np.log1p(step), np.log1p(-step)]

    def quotient(divergence: FDivergence) -> Values:
        values = [divergence.on_log_ratio(x, gauge="normalised").value for x in sides]
        return (values[0] + values[1]) / step**2

    return stacked(quotient, SMOOTH)


def stated(h: Values) -> Values:
    return np.broadcast_to([float(STATED[divergence.name]) for divergence in SMOOTH], (*h.shape, len(SMOOTH)))


CURVATURE = theorem(
    "f''(1) is 1 for both KLs and alpha, 1/2 for the Jensen-Shannon generator",
    statement=r"\frac{f(1+h\epsilon) + f(1-h\epsilon)}{(h\epsilon)^2} \to f''(1),\quad"
    r" f''_{KL}(1) = f''_{\alpha}(1) = 1,\; f''_{JS}(1) = \tfrac12",
    source=Source("li2025choice", "generators"),
    on=chart(h=uniform(0.1, 0.9)),
    tends=(second_difference, stated),
    coq="curvatures",
    examples=(example(h=".8", lhs="1 1 .5 .5 2 2 1 1 1", rhs="1 1 .5 .5 2 2 1 1 1"),),
    false=(
        neighbour(
            "f''(1) = 1 for the Jensen-Shannon generator too",
            at=example(h=".8"),
            rhs=lambda h: np.ones((*h.shape, len(SMOOTH))),
        ),
    ),
)


LADDER = (0.25, 0.5, 0.75, 1 - 2**-10, 2**-10)
"""Values of alpha."""


def distances_from_ends(at_one: Values, at_zero: Values, pi: Values, ref: Values) -> Values:
    """|at_one - alpha D_alpha|, then |at_zero - (1-alpha) D_alpha|, for LADDER's alphas on a last axis.

    `at_one` and `at_zero`, both (batch,), stand for the values at alpha = 1 and 0.
    """
    values = [(alpha, alpha_divergence(alpha)(pi, ref)) for alpha in LADDER]
    near_one = [abs(at_one - alpha * value) for alpha, value in values]
    near_zero = [abs(at_zero - (1 - alpha) * value) for alpha, value in values]
    return np.stack(near_one + near_zero, axis=-1)


def distances(pi: Values, ref: Values) -> Values:
    return distances_from_ends(FORWARD_KL(pi, ref), REVERSE_KL(pi, ref), pi, ref)


def distances_from_exchanged_ends(pi: Values, ref: Values) -> Values:
    return distances_from_ends(REVERSE_KL(pi, ref), FORWARD_KL(pi, ref), pi, ref)


def rates(pi: Values, ref: Values) -> Values:
    spread = (np.maximum(pi, ref) * np.square(np.log(pi / ref))).sum(axis=-1)
    return np.stack([(1 - a) / 2 * spread for a in LADDER] + [a / 2 * spread for a in LADDER], axis=-1)


LIMITS = theorem(
    "alpha D_alpha is within (1-alpha) S/2 of KL(ref||pi), (1-alpha) D_alpha within alpha S/2 of KL(pi||ref)",
    statement=r"|\mathrm{KL}(\pi_{ref}\|\pi) - \alpha D_\alpha| \le \tfrac{1-\alpha}{2} S,\quad"
    r" |\mathrm{KL}(\pi\|\pi_{ref}) - (1-\alpha) D_\alpha| \le \tfrac{\alpha}{2} S,\quad"
    r" S = \sum_y \max(\pi,\pi_{ref}) \log^2\tfrac{\pi}{\pi_{ref}},\; \pi > 0",
    source=Source("ours", "rate of the known limits"),
    on=PAIRS,
    at_most=(distances, rates),
    examples=(
        PI_REF.giving(
            lhs=(
                ".2176413159173 .1423907031111 .0709963744649 .0002807553637 "
                ".3003474802461 .1046279203525 .1954804282246 .2772171007729 "
                ".3534889433829 .0004424826803"
            ),
            rhs=(
                ".4318404835755 .287893655717 .1439468278585 .0005622922963 .5752250191377 "
                ".1439468278585 .287893655717 .4318404835755 .5752250191377 .0005622922963"
            ),
        ),
    ),
    coq="alpha_ends",
    false=(neighbour("the two limits exchanged", lhs=distances_from_exchanged_ends),),
)


def reversed_divergences(pi: Values, ref: Values) -> Values:
    # The reversed declaration, its generator evaluated as declared under samples from the policy.
    return stacked(lambda d: (pi * d.reversed.generator(ref / pi)).sum(axis=-1), EVERY)


ALPHA_FAMILY = tuple(map(alpha_divergence, ALPHAS))

REVERSAL = theorem(
    "D_f(pi||ref) is the reversed divergence of ref from pi; alpha becomes 1 - alpha",
    statement=r"D_f(\pi\|\pi_{ref}) = D_{\tilde f}(\pi_{ref}\|\pi),\quad \tilde f(u) = u f(1/u),"
    r"\quad \tilde f_\alpha = f_{1-\alpha},\; \pi > 0",
    source=Source("li2025choice", "generators"),
    on=PAIRS,
    equal=(partial(divergences, kinds=EVERY), reversed_divergences),
    examples=(
        PI_REF.giving(
            value=(
                ".3006928762565 .3537826013701 .1534056926223 .1583021731455 "
                "1.0504761904762 .6458333333333 .3322062413568 .316604346291 "
                ".3062620023888 .3"
            )
        ),
    ),
    coq="reversal",
    false=(
        neighbour(
            "arguments exchanged, generator kept", rhs=lambda pi, ref: divergences(ref, pi, kinds=EVERY)
        ),
        neighbour(
            "alpha kept under reversal",
            lhs=partial(divergences, kinds=ALPHA_FAMILY),
            rhs=lambda pi, ref: divergences(ref, pi, kinds=ALPHA_FAMILY),
        ),
    ),
)


def merged(policy: Values) -> Values:
    """Distribution (..., outcomes - 1) with its last two outcomes merged into one."""
    return np.concatenate([policy[..., :-2], policy[..., -2:].sum(axis=-1, keepdims=True)], axis=-1)


def mean_half_squared_log(pi: Values, ref: Values) -> Values:
    return (ref * k2_of_ratio(pi / ref)).sum(axis=-1)


PROCESSING = theorem(
    "Merging outcomes does not increase a divergence of positive policies, where f'' >= 0",
    statement=r"f'' \ge 0,\; \pi > 0:\quad D_f(T\pi\|T\pi_{ref}) \le D_f(\pi\|\pi_{ref})"
    r" \text{ for } T \text{ that merges outcomes}",
    source=Source("ours", "classical, from convexity"),
    on=PAIR_WITH_ZEROS,
    at_most=(lambda pi, ref: divergences(merged(pi), merged(ref)), divergences),
    examples=(
        PI_REF.giving(
            lhs=(
                ".2486979937912 .3264317994287 .1356113582983 .1395220896956 "
                "1.0207792207792 .4416666666667 .3001865713978 .2790441793912 "
                ".2621143774611"
            ),
            rhs=(
                ".3006928762565 .3537826013701 .1534056926223 .1583021731455 "
                "1.0504761904762 .6458333333333 .3322062413568 .316604346291 "
                ".3062620023888"
            ),
        ),
    ),
    coq="merging",
    false=(
        neighbour(
            "k2 = (log u)^2/2, not convex, as a generator",
            at=example(pi=".6 .2 .2", ref=".899 .1 .001"),
            lhs=lambda pi, ref: mean_half_squared_log(merged(pi), merged(ref)),
            rhs=mean_half_squared_log,
            instances=PAIRS,
        ),
    ),
)


def bound(pi: Values, ref: Values) -> Values:
    # f(0) = log 2, f(1) = 0 and f(u)/u -> log 2: by convexity f(u) <= |u-1| log 2.
    return 2 * np.log(2) * TOTAL_VARIATION(pi, ref)


FORGETTING = theorem(
    "The Jensen-Shannon generator's divergence of positive policies: D <= 2 log 2 TV <= 2 log 2",
    statement=r"\pi > 0:\quad D_{f_{JS}}(\pi\|\pi_{ref}) \le 2\log 2\;\mathrm{TV}(\pi,\pi_{ref}) \le 2\log 2",
    source=Source("li2025choice", "generators"),
    on=PAIR_WITH_ZEROS,
    at_most=(JENSEN_SHANNON, bound),
    examples=(PI_REF.giving(lhs=".1534056926223", rhs=".415888308336"),),
    note="Equal where policy and reference share no outcome, which is checked beside it. Forward KL is"
    " infinite as soon as one outcome of the reference is lost.",
    coq="forgetting",
    false=(
        neighbour("forward KL as well", at=example(pi="0 .95 .05", ref=".5 0 .5"), lhs=FORWARD_KL),
        neighbour(
            "the bound of the divergence itself, half of it",
            at=example(pi="1 0 0", ref="0 .2 .8"),
            rhs=scaled(bound, 0.5),
        ),
    ),
)


def misprinted(pi: Values, ref: Values) -> Values:
    """E_ref[f(u)], (...), for the misprinted JS generator u log(u/2) - (u+1)/2 log((u+1)/2)."""
    ratio = pi / ref
    middle = (ratio + 1) / 2
    return (ref * (ratio * np.log(ratio / 2) - middle * np.log(middle))).sum(axis=-1)


def only_first_term_misprinted(pi: Values, ref: Values) -> Values:
    # u log(u/2) in place of u log u, the second term as it should be.
    return JENSEN_SHANNON(pi, ref) + (pi * (np.log(pi / ref / 2) - np.log(pi / ref))).sum(axis=-1)


GENERATOR = refuted(
    "u log(u/2) - (u+1)/2 log((u+1)/2) as a Jensen-Shannon generator: refuted",
    statement=r"f(1) = 0,\; E_{ref}[f(u)] \ge 0 \quad\text{for}\quad"
    r" f(u) = u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}",
    source=Source("li2025choice", "as some summaries print it"),
    on=PAIRS,
    at_most=(lambda pi: 0 * pi[..., 0], misprinted),
    examples=(FAR_PAIR.giving(lhs="0", rhs="-.4225501102867"),),
    coq="no_generator",
    note="As some summaries print it, the generator has f(1) = -log 2, so that equal distributions are at"
    " -log 2 from each other. The generator u log u - (u+1) log((u+1)/2) is non-negative"
    " (generators.nonnegative); the misprint is another divergence less log 2 (generators.value).",
    false=(neighbour("only the first term misprinted", rhs=only_first_term_misprinted),),
)


def difference_of_kls(pi: Values, ref: Values) -> Values:
    return REVERSE_KL(pi, ref) - REVERSE_KL((pi + ref) / 2, ref) - np.log(2)


VALUE = theorem(
    "The misprint computes KL(pi||ref) - KL(m||ref) - log 2, least at pi = ref",
    statement=r"E_{ref}[u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}]"
    r" = \mathrm{KL}(\pi\|\pi_{ref}) - \mathrm{KL}(m\|\pi_{ref}) - \log 2,\;"
    r" m = \tfrac{\pi+\pi_{ref}}{2},\; \pi > 0",
    source=Source("ours", "what the misprint computes"),
    on=PAIRS,
    equal=(misprinted, difference_of_kls),
    examples=(PI_REF.giving(value="-.4395530335638"),),
    coq="misprint_value",
    false=(
        neighbour(
            "Jensen-Shannon itself less log 2", rhs=lambda pi, ref: JENSEN_SHANNON(pi, ref) / 2 - np.log(2)
        ),
    ),
)
