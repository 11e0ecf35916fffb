"""A divergence of a user's own: Le Cam's, as docs/extending.md declares it."""

from dph_theory.fdivergence import FDivergence


def normalised(xp, x):
    t, odds = xp.tanh(x / 2), xp.exp(x)
    return xp.expm1(x) * t, odds * (t * (1 + 2 / (odds + 1)))


LE_CAM = FDivergence("le_cam", lambda u: (u - 1) ** 2 / (u + 1), normalised, reverse=lambda: LE_CAM)
NONE = "le_cam"
