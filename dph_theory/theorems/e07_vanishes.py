"""E7, third claim: what is lost is pulled back by rehearsal, and not by an on-policy penalty."""

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def pulls(rest: Values, ref: Values, eps: float) -> Values:
    """Both penalties' pull on the first answer, of policy mass eps."""
    pi = np.concatenate([np.full((len(rest), 1), eps), (1 - eps) * rest], axis=-1)
    return np.stack([-f.gradient(pi, ref)[..., 0] for f in (REVERSE_KL, FORWARD_KL)], axis=-1)


def none_and_all(ref: Values) -> Values:
    return np.stack([0 * ref[..., 0], ref[..., 0]], axis=-1)


def all_and_all(ref: Values) -> Values:
    return np.stack([ref[..., 0], ref[..., 0]], axis=-1)


THEOREM = Theorem(
    name="E7.vanishes",
    title="On an answer that is lost the on-policy pull vanishes, and the rehearsed one does not",
    source=Source("ours", "the way back"),
    statement=r"\pi_y \to 0:\quad -\partial_{\theta_y}\mathrm{KL}(\pi\|\pi_{ref}) \to 0,\quad"
    r" -\partial_{\theta_y}\mathrm{KL}(\pi_{ref}\|\pi) \to \pi_{ref,y}",
    relation=Relation.TENDS,
    lhs=pulls,
    rhs=none_and_all,
    instances=chart(rest=simplex(3, spread=2.0), ref=simplex(4, spread=2.0)),
    expected=Verdict.HOLDS,
    examples=(example(rest=".5 .3 .2", ref=".25 .25 .25 .25"),),
    certified=False,
    tolerance=1e-4,
    floor=1.0,
    ladder=(1e-3, 1e-5, 1e-7),
    false_neighbours=(
        neighbour("both pull by the reference mass", rhs=all_and_all),
        near(1, ref=(0.26, 0.0002)),
    ),
)
