"""E6. Convergence takes time 1/beta.

A stationary policy is the limit of training, not where a budget stops: near it a run relaxes at beta times
eigenvalues that stay of order one for the modes among valid answers.

E7. Recovery: on-policy penalties against rehearsal.

Both penalties have one optimum. What rehearsal changes is the gradient on an answer that is nearly lost:
of an on-policy penalty it is proportional to its mass, of rehearsal to what it lacks.
"""

import numpy as np

from ...binary_reward import tilted
from ...divergences import FORWARD_KL, REVERSE_KL
from ...numeric.elementary import Values
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, simplex, uniform
from ...verification.statement import neighbour, theorem
from .._laws import PI_REF


def flow_near_the_law(base: Values, valid: Values, beta: Values, push: Values, eps: float) -> Values:
    """The flow of E v - beta KL(pi || a) in logits, eps push away from p_beta, over beta eps."""
    weight = tilted(base, valid, beta) * np.exp(eps * push)
    law = weight / weight.sum(axis=-1, keepdims=True)
    gain = valid / beta[:, None] - np.log(law / base)
    return law * (gain - (law * gain).sum(axis=-1, keepdims=True)) / eps


def relaxation(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    """-(diag p - p p^T) push."""
    law = tilted(base, valid, beta)
    return -law * (push - (law * push).sum(axis=-1, keepdims=True))


def without_the_mean(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -tilted(base, valid, beta) * push


def at_the_base(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -base * (push - (base * push).sum(axis=-1, keepdims=True))


RATE = theorem(
    "E6.rate",
    "Near p_beta the flow relaxes at beta times the eigenvalues of diag(p_beta) - p_beta p_beta^T",
    statement=r"\tfrac{d}{dt}\delta\theta ="
    r" -\beta\,(\mathrm{diag}(p_\beta) - p_\beta p_\beta^\top)\,\delta\theta",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4, spread=2.0), valid=masks(4), beta=log_uniform(0.2, 5), push=uniform(-1, 1, 4)),
    tends=(flow_near_the_law, relaxation),
    examples=(
        example(
            base=".3 .2 .1 .4",
            valid=[True, True, True, False],
            beta=".5",
            push="1 .5 0 -.5",
            lhs="-.1971536316367 .0214380950929 .0871559723052 .0885595642385",
            rhs="-.1971536316367 .0214380950929 .0871559723052 .0885595642385",
        ),
    ),
    note="Modes among valid answers keep eigenvalues of order one as beta falls: they relax in time 1/beta."
    " The slowest mode is that of the invalid mass: its eigenvalue dies with that mass.",
    tolerance=1e-4,
    floor=1e-2,
    ladder=(1e-2, 1e-4, 1e-6),
    coq="relaxation",
    false=(
        neighbour("diag(p) alone", rhs=without_the_mean),
        neighbour("the base in the place of the stationary policy", rhs=at_the_base),
    ),
)


def gradient(pi: Values, ref: Values) -> Values:
    return -REVERSE_KL.gradient(pi, ref)


def own_mass_times_gap(pi: Values, ref: Values) -> Values:
    log_ratio = np.log(pi / ref)
    return pi * ((pi * log_ratio).sum(axis=-1, keepdims=True) - log_ratio)


def what_it_lacks(pi: Values, ref: Values) -> Values:
    return ref - pi


def without_the_mean_e07(pi: Values, ref: Values) -> Values:
    return -pi * np.log(pi / ref)


ONPOLICY = theorem(
    "E7.onpolicy",
    "On-policy reverse KL: the gradient on an answer is its own mass times its log-ratio gap",
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi\|\pi_{ref}) = \pi_y\big(E_\pi\log\tfrac{\pi}{\pi_{ref}}"
    r" - \log\tfrac{\pi_y}{\pi_{ref,y}}\big)",
    source=Source("ours", "recovery"),
    on=chart(pi=simplex(4), ref=simplex(4)),
    equal=(gradient, own_mass_times_gap),
    examples=(PI_REF.giving(value="-.4130047038999 .1523799843592 .1153852305369 .1452394890038"),),
    coq="on_policy_pull",
    false=(
        neighbour("ref - pi, the gradient of rehearsal", rhs=what_it_lacks),
        neighbour("without the mean log ratio", rhs=without_the_mean_e07),
    ),
)


def own_mass_times_what_it_lacks(pi: Values, ref: Values) -> Values:
    pull = pi * (ref / pi - pi)
    return pull - pi * (pull.sum(axis=-1, keepdims=True) - 0 * pull)


REHEARSED = theorem(
    "E7.rehearsed",
    "Rehearsed forward KL: the gradient on an answer is ref - pi, however small its mass",
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi_{ref}\|\pi) = \pi_{ref,y} - \pi_y",
    source=Source("ours", "recovery"),
    on=chart(pi=simplex(4), ref=simplex(4)),
    equal=(lambda pi, ref: -FORWARD_KL.gradient(pi, ref), what_it_lacks),
    examples=(PI_REF.giving(value="-.3 .05 .05 .2"),),
    coq="rehearsed_pull",
    false=(neighbour("the mean of the policy's own mass left in", rhs=own_mass_times_what_it_lacks),),
)


def pulls(rest: Values, ref: Values, eps: float) -> Values:
    """Both penalties' gradients on the first answer, of policy mass eps."""
    pi = np.concatenate([np.full((len(rest), 1), eps), (1 - eps) * rest], axis=-1)
    return np.stack([-f.gradient(pi, ref)[..., 0] for f in (REVERSE_KL, FORWARD_KL)], axis=-1)


VANISHES = theorem(
    "E7.vanishes",
    "On an answer that is lost the on-policy gradient vanishes, and the rehearsed one does not",
    statement=r"\pi_y \to 0:\quad -\partial_{\theta_y}\mathrm{KL}(\pi\|\pi_{ref}) \to 0,\quad"
    r" -\partial_{\theta_y}\mathrm{KL}(\pi_{ref}\|\pi) \to \pi_{ref,y}",
    source=Source("ours", "recovery"),
    on=chart(rest=simplex(3, spread=2.0), ref=simplex(4, spread=2.0)),
    tends=(pulls, lambda ref: np.stack([0 * ref[..., 0], ref[..., 0]], axis=-1)),
    examples=(example(rest=".5 .3 .2", ref=".25 .25 .25 .25"),),
    tolerance=1e-4,
    floor=1.0,
    ladder=(1e-3, 1e-5, 1e-7),
    false=(
        neighbour(
            "both by the reference mass", rhs=lambda ref: np.stack([ref[..., 0], ref[..., 0]], axis=-1)
        ),
    ),
)
