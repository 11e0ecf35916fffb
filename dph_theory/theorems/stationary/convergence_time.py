"""The time of convergence to a stationary policy, and of the recovery of a lost answer.

A stationary policy is the limit of training, not where a budget stops: near it a run relaxes at beta times
eigenvalues that stay of order one for the modes among correct answers, so in a time of 1/beta. On-policy
penalties and rehearsal have one optimum and differ in the gradient on an answer that is nearly lost:
proportional to its mass on policy, to what it lacks under rehearsal.
"""

import numpy as np

from ...binary_reward import tilted
from ...divergences import FORWARD_KL, REVERSE_KL
from ...numeric.elementary import Values, normalised
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, simplex, uniform
from ...verification.statement import neighbour, scaled, theorem
from .._policies import PI_REF, centred, expected_update, logit_update

PAIRS = chart(pi=simplex(4), ref=simplex(4))


def flow_near_tilted(base: Values, valid: Values, beta: Values, push: Values, eps: float) -> Values:
    """Rate of change of the logits at p_beta displaced by eps * push, divided by beta * eps.

    The flow is gradient ascent on E v - beta KL(pi || a). `base`, `valid` and `push` have shape
    (batch, answers), `beta` (batch,).
    """
    policy = normalised(tilted(base, valid, beta) * np.exp(eps * push))
    return policy * centred(policy, valid / beta[:, None] - np.log(policy / base)) / eps


def relaxation(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    """Linearised logit flow at p_beta over beta, -(diag p - p p^T) push, shape (batch, answers)."""
    return -expected_update(tilted(base, valid, beta), push)


def relaxation_without_mean(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -tilted(base, valid, beta) * push


RATE = theorem(
    "Near p_beta the flow relaxes at beta times the eigenvalues of diag(p_beta) - p_beta p_beta^T",
    statement=r"\tfrac{d}{dt}\delta\theta ="
    r" -\beta\,(\mathrm{diag}(p_\beta) - p_\beta p_\beta^\top)\,\delta\theta",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4, spread=2.0), valid=masks(4), beta=log_uniform(0.2, 5), push=uniform(-1, 1, 4)),
    tends=(flow_near_tilted, relaxation),
    examples=(
        example(base=".3 .2 .1 .4", valid=[True, True, True, False], beta=".5", push="1 .5 0 -.5").giving(
            value="-.1971536316367 .0214380950929 .0871559723052 .0885595642385"
        ),
    ),
    note="Modes among valid answers keep eigenvalues of order one as beta falls: they relax in time 1/beta."
    " The slowest mode is that of the invalid mass: its eigenvalue dies with that mass.",
    tolerance=1e-4,
    floor=1e-2,
    ladder=(1e-2, 1e-4, 1e-6),
    coq="relaxation",
    false=(
        neighbour("diag(p) alone", rhs=relaxation_without_mean),
        neighbour(
            "the base in the place of the stationary policy",
            rhs=lambda base, push: -expected_update(base, push),
        ),
    ),
)


def own_mass_times_gap(pi: Values, ref: Values) -> Values:
    return -pi * centred(pi, np.log(pi / ref))


def lacking_mass(pi: Values, ref: Values) -> Values:
    return ref - pi


ONPOLICY = theorem(
    "On-policy reverse KL: the gradient on an answer is its own mass times its log-ratio gap",
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi\|\pi_{ref}) = \pi_y\big(E_\pi\log\tfrac{\pi}{\pi_{ref}}"
    r" - \log\tfrac{\pi_y}{\pi_{ref,y}}\big)",
    source=Source("ours", "recovery"),
    on=PAIRS,
    equal=(scaled(REVERSE_KL.gradient, -1), own_mass_times_gap),
    examples=(PI_REF.giving(value="-.4130047038999 .1523799843592 .1153852305369 .1452394890038"),),
    coq="on_policy_pull",
    false=(
        neighbour("ref - pi, the gradient of rehearsal", rhs=lacking_mass),
        neighbour("without the mean log ratio", rhs=lambda pi, ref: -pi * np.log(pi / ref)),
    ),
)


REHEARSED = theorem(
    "Rehearsed forward KL: the gradient on an answer is ref - pi, however small its mass",
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi_{ref}\|\pi) = \pi_{ref,y} - \pi_y",
    source=Source("ours", "recovery"),
    on=PAIRS,
    equal=(scaled(FORWARD_KL.gradient, -1), lacking_mass),
    examples=(PI_REF.giving(value="-.3 .05 .05 .2"),),
    coq="rehearsed_pull",
    false=(
        neighbour(
            "the mean of the policy's own mass left in",
            rhs=lambda pi, ref: logit_update(pi, ref - np.square(pi)),
        ),
    ),
)
