"""The type of an f-divergence, D_f(pi || ref) = E_ref[f(u)] with u = pi/ref, the policy first.

A divergence is declared by its generator f as a sympy expression. The *normalised* generator g(u) = f(u) -
f'(1)(u-1) follows from f as a function of x = log u, computed without loss of digits near u = 1 or at extreme
ratios; a faster form given beside f is compared with f on first use. Each term of g is non-negative, so
rounding never makes a divergence negative; g gives the same divergence as f because pi and ref both sum to
one. The named divergences are in `divergences`.
"""

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import lazy_loader
import numpy as np

from .numeric.arrays import Distribution, distribution, require_common_shape
from .numeric.elementary import Values, log_ratio
from .support.errors import argument_error

if TYPE_CHECKING:
    import sympy

    u: sympy.Symbol
else:
    sympy = lazy_loader.load("sympy")  # Importing sympy takes over a second, and floats do not need it.


def __getattr__(name: str) -> Any:
    """Return `u`, the symbol of the density ratio pi/ref."""
    if name != "u":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _ratio()


@functools.cache
def _ratio() -> "sympy.Symbol":
    return sympy.Symbol("u", positive=True)


class OnLogRatio(NamedTuple):
    """f(e^x) and its derivative in x."""

    value: Any
    derivative: Any


Form = Callable[[Any, Any], tuple[Any, Any]]
"""Maps (xp, x) to g(e^x) and its derivative in x, for the array namespace xp."""


@dataclass(frozen=True)
class FDivergence:
    """An f-divergence D_f(pi || ref) = sum_y ref(y) f(pi(y)/ref(y)), callable on arrays (..., outcomes).

    Attributes:
        declared: Function of the symbol `u` that returns f as a sympy expression; convex, f(1) = 0.
        normalised: Stable form of g; follows from f if not given.
        reverse: The divergence with exchanged arguments; follows from f if not given. A given form that
            disagrees with f raises ValueError on first use.
        alpha: Parameter of the alpha-divergences, else None.
        at_one: f'(1) and f''(1), for divergences whose forms the package's tests compare (this needs sympy);
            only these may give `printed`, a stable form of f itself.
    """

    name: str
    declared: "Callable[[sympy.Symbol], sympy.Expr]" = field(repr=False, compare=False)
    normalised: Form | None = field(default=None, repr=False, compare=False)
    reverse: "Callable[[], FDivergence] | None" = field(default=None, repr=False, compare=False)
    printed: Form | None = field(default=None, repr=False, compare=False)
    alpha: float | None = field(default=None, repr=False)
    at_one: tuple[float, float] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def expression(self) -> "sympy.Expr":
        """Generator f as an expression in u. Raises ValueError if `declared` returns none."""
        try:
            return sympy.sympify(self.declared(_ratio()))
        except Exception as error:  # Of a user's own function.
            allowed = f"a sympy expression of u, with functions as sympy.sqrt, not numpy's ({error})"
            raise argument_error("declared", self.name, allowed) from error

    @cached_property
    def reversed(self) -> "FDivergence":
        """Divergence with exchanged arguments: f_reversed(u) = u f(1/u)."""
        if self.at_one and self.reverse is not None:
            return self.reverse()
        from .numeric.generator_forms import disagreement, exact_form

        exchanged = sympy.expand(_ratio() * self.expression.subs(_ratio(), 1 / _ratio()))
        if self.reverse is None:
            return FDivergence(f"{self.name}, reversed", lambda _: exchanged, reverse=lambda: self)
        reverse = self.reverse()
        given, true = (exact_form(part, _ratio()) for part in (reverse.expression, exchanged))
        worst = disagreement(lambda x: tuple(np.array([given(at) for at in x], float).T), true)
        if worst:
            raise argument_error("reverse", reverse.name, f"the divergence of u f(1/u); {worst}")
        return reverse

    @cached_property
    def _form(self) -> Form:
        """Normalised generator at log-ratios x <= 0; a declared form is first compared with f."""
        if self.at_one and self.normalised is not None:
            return self.normalised
        from .numeric import generator_forms as forms

        exact = forms.exact_form(self.expression, _ratio())
        if not forms.is_above_tangent(exact):
            raise argument_error("declared", str(self.expression), "a convex f of u with f(1) = 0")
        form = self.normalised or forms.derived_form(self.expression, _ratio())
        log_ratios = forms.LOG_RATIOS if self.normalised else [x for x in forms.LOG_RATIOS if x < 0]
        worst = forms.disagreement(partial(form, np), exact, log_ratios)
        if worst:
            allowed = "(xp, x) -> f(e^x) - f'(1)(e^x - 1) and its derivative in x, without cancellation"
            raise argument_error("normalised", self.normalised, f"{allowed}; {worst}")
        return form

    @cached_property
    def derivative(self) -> "sympy.Expr":
        """f'(u), as an expression in u."""
        return sympy.simplify(sympy.diff(self.expression, _ratio()))

    @cached_property
    def gauge(self) -> float:
        """f'(1), the coefficient of the linear term by which f differs from its normalised form."""
        return self.at_one[0] if self.at_one else float(self._gauge)

    @cached_property
    def _gauge(self) -> "sympy.Expr":
        # Simplifying f' first would take a tenth of a second.
        return sympy.diff(self.expression, _ratio()).subs(_ratio(), 1)

    @cached_property
    def curvature(self) -> float:
        """Curvature f''(1), where D_f ~ f''(1)/2 chi^2 locally; inf if f has a kink at 1."""
        if self.at_one:
            return self.at_one[1]
        value = sympy.diff(self.expression, _ratio(), 2).subs(_ratio(), 1)
        return np.inf if value.has(sympy.DiracDelta) else float(value)

    @cached_property
    def at_zero(self) -> "sympy.Expr":
        """f(0): cost per unit of reference mass where the policy has none (0, finite or oo)."""
        return sympy.limit(self.expression, _ratio(), 0, "+")

    @cached_property
    def _weighted_slope_at_zero(self) -> "sympy.Expr":
        """Limit of u f'(u) at 0: times ref, the limit of pi f'(pi/ref) as pi vanishes."""
        return sympy.limit(_ratio() * sympy.diff(self.expression, _ratio()), _ratio(), 0, "+")

    @cached_property
    def at_infinity(self) -> "sympy.Expr":
        """lim f(u)/u: cost per unit of policy mass where the reference has none (0, finite or oo)."""
        return sympy.limit(self.expression / _ratio(), _ratio(), sympy.oo)

    def __call__(self, pi: Distribution, ref: Distribution) -> Values:
        """Evaluate D_f(pi || ref) over the last axis: (..., outcomes) gives (...); may be inf, never nan.

        Raises ValueError if an argument is not a distribution or the shapes do not broadcast.
        """
        return self.unchecked(*_pair(pi, ref))

    def unchecked(self, pi: Values, ref: Values) -> Values:
        """D_f (...) of policies (..., outcomes) without checks, for inner loops."""
        return self._terms(pi, ref).sum(axis=-1)

    def _terms(self, pi: Values, ref: Values) -> Values:
        """Terms ref g(pi/ref), (..., outcomes), each computed from the side with ratio at most one."""
        x = log_ratio(pi, ref)
        inside = np.where(np.isfinite(x), -np.abs(x), 0.0)
        with np.errstate(over="ignore"):
            fewer = ref * self._form(np, inside)[0]
            more = pi * self.reversed._form(np, inside)[0]
        terms = np.where(x <= 0, fewer, more)
        if np.isfinite(x).all():
            return terms  # The limits are symbolic, so they are computed only where some mass is zero.
        terms = np.where(x == -np.inf, _cost(ref, self.at_zero + self._gauge), terms)
        return np.where(x == np.inf, _cost(pi, self.at_infinity - self._gauge), terms)

    def generator(self, ratio: Any) -> Values:
        """Evaluate f at density ratios u > 0, as declared; near u = 1 prefer `on_log_ratio`."""
        return self._evaluate(self.expression, ratio)

    def generator_derivative(self, ratio: Any) -> Values:
        """Evaluate f' at density ratios u > 0, as declared."""
        return self._evaluate(self.derivative, ratio)

    @staticmethod
    def _evaluate(expression: "sympy.Expr", ratio: Any) -> Values:
        from .numeric.compiled import compiled

        ratio = np.asarray(ratio)
        return np.broadcast_to(compiled(expression, _ratio())(ratio), ratio.shape)

    def on_log_ratio(self, x: Any, *, gauge: str | float = "printed", xp: Any = None) -> OnLogRatio:
        """Evaluate f(e^x) and d/dx f(e^x) at finite x = log u, a numpy or torch array, without cancellation.

        gauge selects the linear term: "printed" for f as declared, "normalised" for f(u) - f'(1)(u-1), or a
        number c for f(u) + c(u-1), accurate relative to the larger of |g(u)| and |(f'(1) + c)(u-1)|. The
        result is never nan, and inf only if the value exceeds the dtype. xp is the computing namespace, by
        default that of x.
        """
        if xp is None:
            xp = sys.modules["torch"] if type(x).__module__.startswith("torch") else np
        if xp is np:
            x = np.asarray(x, dtype=np.result_type(x, np.float32))
        elif x.dtype.itemsize < 4:
            x = x.float()
        if gauge not in ("printed", "normalised") and not (
            isinstance(gauge, int | float) and math.isfinite(gauge)
        ):
            raise argument_error("gauge", gauge, 'one of "printed", "normalised", or a finite number')
        # The gauge is g + c(u-1), g the normalised generator and c the offset.
        offset = 0.0 if gauge == "normalised" else self.gauge + (0.0 if isinstance(gauge, str) else gauge)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.at_one and self.printed is not None and offset == self.gauge:
                value, slope = self.printed(xp, x)
            elif offset == 0 and self.normalised is not None:
                value, slope = self._form(xp, x)
            else:
                value, slope = self._both_sides(xp, x, offset)
        return OnLogRatio(value, slope)

    def _both_sides(self, xp: Any, x: Any, offset: float) -> tuple[Any, Any]:
        """g + c(e^x - 1) and its derivative in x, from the halves x <= 0 of g and of its reverse."""
        # For x > 0 all terms share the factor e^x, applied in two halves: no difference of infinities is
        # formed, and no factor overflows unless the product does.
        inside = -xp.abs(x)
        value, slope = self._form(xp, inside)
        other, other_slope = self.reversed._form(xp, inside)
        # d/dx [e^x h(-x)] = e^x (h(-x) - h'(-x)): a sum of two non-negative terms, since h falls to 0 at 0.
        other_slope = other - other_slope
        value, slope = value + offset * xp.expm1(inside), slope + offset * xp.exp(inside)
        other, other_slope = other - offset * xp.expm1(inside), other_slope + offset
        root = xp.exp(xp.where(x > 0, x, xp.zeros_like(x)) / 2)
        return (
            xp.where(x <= 0, value, _grown(xp, root, other)),
            xp.where(x <= 0, slope, _grown(xp, root, other_slope)),
        )

    def gradient(self, pi: Distribution, ref: Distribution) -> Values:
        """Gradient of D_f(softmax(theta) || ref) in the logits theta, where D_f is finite.

        d/d theta_j = pi_j (f'(u_j) - E_pi f'(u)); shape (..., outcomes). Raises ValueError as in `__call__`.
        """
        pi, ref = np.broadcast_arrays(*_pair(pi, ref))
        weighted = self._weighted_slope(pi, ref)
        return weighted - pi * weighted.sum(axis=-1, keepdims=True)

    def _weighted_slope(self, pi: Values, ref: Values) -> Values:
        """pi_j f'(u_j) for the normalised f, (..., outcomes), with its limits at zero mass."""
        x = log_ratio(pi, ref)
        inside = np.where(np.isfinite(x), -np.abs(x), 0.0)
        _, slope = self._form(np, inside)
        other, other_slope = self.reversed._form(np, inside)
        weighted = np.where(x <= 0, ref * slope, pi * (other - other_slope))
        if np.isfinite(x).all():
            return weighted
        weighted = np.where(x == -np.inf, _cost(ref, self._weighted_slope_at_zero), weighted)
        return np.where(x == np.inf, _cost(pi, self.at_infinity - self._gauge), weighted)


def _pair(pi: Distribution, ref: Distribution) -> tuple[Values, Values]:
    pi, ref = distribution("pi", pi), distribution("ref", ref)
    require_common_shape(pi=pi, ref=ref)
    if pi.shape[-1] != ref.shape[-1]:
        raise argument_error("ref.shape", ref.shape, f"the last axis must match pi's {pi.shape[-1]} outcomes")
    return pi, ref


def _grown(xp: Any, root: Any, value: Any) -> Any:
    """root^2 * value, elementwise; 0 where the value is 0, even if the root is infinite."""
    return xp.where(value == 0, value, root * (root * value))


def _cost(mass: Values, unit: "sympy.Expr") -> Values:
    """Mass times an exact limit of the generator; inf if the limit is, without forming 0 * inf."""
    if unit.is_infinite:
        return np.where(mass > 0, np.inf if unit.is_extended_positive else -np.inf, 0.0)
    return mass * float(unit)
