"""A divergence of a user's own: Le Cam's, as docs/extending.md declares it."""

from dph_theory.fdivergence import FDivergence

LE_CAM = FDivergence("le_cam", lambda u: (u - 1) ** 2 / (u + 1))
NONE = "le_cam"
