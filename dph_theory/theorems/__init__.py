"""The registry: every statement is one value, THEOREM, in a file of its own; adding one is a line here."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from ..theorem import Theorem

MODULES = (
    "a01_distance",
    "a01_nearest",
    "a01_dimension",
    "a02_conserved",
    "a02_orbit",
    "a02_limit",
    "a02_richer",
    "a02_ratios",
    "a03_field",
    "a03_path",
    "a03_ratios",
    "a03_limit",
    "a04_identity",
    "a04_unique",
    "a04_value",
    "a05_validity",
    "a05_mixture",
    "a05_cost",
    "a05_slope",
    "a05_inverse",
    "a06_pointwise",
    "a06_variation",
    "a06_forward",
    "a06_reverse",
    "a07_pythagoras",
    "a07_closest",
    "a08_decomposition",
    "a08_frontier",
    "b01_convex",
    "b01_nonnegative",
    "b01_textbook",
    "b01_curvature",
    "b01_limits",
    "b01_reversal",
    "b01_processing",
    "b02_misprint",
    "b02_value",
    "b03_gauge",
    "b03_minimiser",
    "b03_targets",
    "b03_filtered",
    "b03_tokens",
    "b03_mass",
    "b04_kl",
    "b04_js",
    "b04_alpha",
    "b05_chain",
    "b05_js_exceeds",
    "b05_js_falls_short",
    "b05_alpha_exceeds",
    "b05_alpha_falls_short",
    "b05_deficit",
    "b05_product",
)
"""The files of this folder, in the order of the theory."""


def _collect() -> Mapping[str, Theorem]:
    theorems: dict[str, Theorem] = {}
    for module in MODULES:
        theorem = importlib.import_module(f"{__name__}.{module}").THEOREM
        if theorem.name in theorems:
            raise ValueError(f"name={theorem.name!r} is not allowed: already registered")
        theorems[theorem.name] = theorem
    return MappingProxyType(theorems)


THEOREMS = _collect()
"""Every theorem by name, in the order of the theory."""
