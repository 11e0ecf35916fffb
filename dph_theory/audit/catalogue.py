"""The KL terms in circulation, with their sources, and the audit of them all."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..references import Source
from ..support.processes import in_order
from . import AuditReport, audit
from . import catalogue_forms as forms
from .kl_terms import Loss


@dataclass(frozen=True)
class Form:
    """One loss as published, on the samples it is used with; `source` is a paper key or a public code."""

    name: str
    source: str
    formula: str
    samples: str
    loss: Loss


_SCHULMAN, _GRPO = str(Source("schulman2020kl")), str(Source("shao2024grpo", "equation 4"))
_FDPG = str(Source("go2023fdpg", "the f-DPG gradient"))
_OURS = str(Source("ours", "theory B3"))
_DEEPSEEK = str(Source("deepseek2025v32", "section 3.1"))
_VERL = "verl, verl/trainer/ppo/core_algos.py, kl_penalty"
_TRL = "TRL, huggingface/trl issue 6586"


def _released(place: str) -> str:
    """A place in the code that the authors of DPH-RL released."""
    return str(Source("li2025choice", f"released code, {place}"))


_ON_POLICY_SAMPLES: tuple[Form, ...] = (
    Form("k1", _SCHULMAN, "mean_t log(pi/ref)", "policy", forms.k1),
    Form("k2", _SCHULMAN, "mean_t log(pi/ref)^2 / 2", "policy", forms.k2),
    Form("k3", _GRPO, "mean_t (r - 1 - log r), r = ref/pi", "policy", forms.k3),
    Form("k3", _GRPO, "mean_t (r - 1 - log r), r = ref/pi", "old_policy", forms.k3),
    Form(
        "k1 in the reward",
        _SCHULMAN,
        "sum_t log pi_t sg(sum_s log(pi_s/ref_s))",
        "policy",
        forms.k1_in_return,
    ),
    Form(
        "k1 in the reward to go",
        _SCHULMAN,
        "sum_t log pi_t sg(sum_{s>=t} log(pi_s/ref_s))",
        "policy",
        forms.k1_to_go,
    ),
    Form(
        "k1 in each token's own advantage",
        _SCHULMAN,
        "sum_t log pi_t sg(log(pi_t/ref_t))",
        "policy",
        forms.k1_own_token,
    ),
    *(
        Form("corrected k3", _DEEPSEEK, "mean_t pi/old (r - 1 - log r), r = ref/pi", s, forms.corrected_k3)
        for s in ("policy", "old_policy")
    ),
    Form(
        "k3 corrected by a sequence ratio",
        _TRL,
        "mean_t exp(mean_s log(pi_s/old_s)) (r_t - 1 - log r_t), r = ref/pi",
        "policy",
        forms.sequence_corrected_k3,
    ),
    Form("absolute log ratio", f"{_VERL} abs", "mean_t |log(pi/ref)|", "policy", forms.absolute),
    Form(
        "clamped k3",
        f"{_VERL} low_var_kl",
        "mean_t clip(r - 1 - log r, -10, 10), log r = clip(log(ref/pi), -20, 20)",
        "policy",
        forms.clamped_k3,
    ),
    Form(
        "value of k3, gradient of k2",
        f"{_VERL} k3+",
        "mean_t (sg(clamped k3) + k2 - sg(k2))",
        "policy",
        forms.straight_through_k3,
    ),
)


def _pseudo_losses() -> tuple[Form, ...]:
    log = "log pi(y) sg({}), u = pi(y)/ref(y)"
    return (
        Form(
            "f-DPG forward KL",
            _FDPG,
            log.format("-1/u"),
            "policy",
            forms.pseudo_loss(lambda x: -torch.exp(-x)),
        ),
        Form(
            "f-DPG reverse KL", _FDPG, log.format("log u + 1"), "policy", forms.pseudo_loss(lambda x: x + 1)
        ),
        Form(
            "f-DPG JS",
            _FDPG,
            log.format("log(2u/(u+1))"),
            "policy",
            forms.pseudo_loss(lambda x: math.log(2) - torch.logaddexp(-x, torch.zeros_like(x))),
        ),
    )


def _rehearsal() -> tuple[Form, ...]:
    """Each on correct samples of the reference, as rehearsed, and on all of them, as the theory has it."""
    half, alpha = alpha_divergence(0.5), "(u^(1-a) - (1-a) u - a) / (a(a-1))"
    js = "u log u - (u+1) log((u+1)/2)"
    published = (
        (
            "released forward",
            _released("sft_loss_mode forward"),
            "mean_t clip(u - 1 - log u, -10, 10), log u = clip(log(pi/ref), -20, 20)",
            forms.released_forward,
        ),
        (
            "released js",
            _released("sft_loss_mode js"),
            "mean_t clip(w - 1 - log w, -10, 10), log w = clip(log(m/ref), -20, 20), m = (pi+ref)/2",
            forms.released_half_js,
        ),
        (
            "released js_low_var",
            _released("sft_loss_mode js_low_var"),
            f"mean_t ({js}), u = pi/ref",
            forms.released_js,
        ),
        (
            "released alpha",
            _released("sft_loss_mode alpha, alpha_coeff 0.2"),
            f"mean_t {alpha}, u = pi/ref, a = 0.2",
            forms.released_alpha,
        ),
        ("forward KL, printed", _OURS, "mean_t -log u, u = pi/ref", forms.ours(FORWARD_KL)),
        (
            "forward KL, normalised",
            _OURS,
            "mean_t (u - 1 - log u), u = pi/ref",
            forms.ours(FORWARD_KL, "normalised"),
        ),
        ("JS", _OURS, f"mean_t ({js}), u = pi/ref", forms.ours(JENSEN_SHANNON)),
        ("alpha 0.5", _OURS, f"mean_t {alpha}, u = pi/ref, a = 0.5", forms.ours(half)),
    )
    return tuple(
        Form(name, source, formula, samples, loss)
        for name, source, formula, loss in published
        for samples in ("filtered", "reference")
    )


CATALOGUE: tuple[Form, ...] = (*_ON_POLICY_SAMPLES, *_pseudo_losses(), *_rehearsal())
"""Every form that `dph audit --catalogue` audits; sg holds its argument fixed, mean_t is over tokens."""


def form_of(report: AuditReport) -> Form:
    """The catalogue's form that a report is about; ValueError if there is none."""
    for form in CATALOGUE:
        if (form.name, form.samples) == (report.loss, report.samples):
            return form
    raise ValueError(f"{report.loss} on {report.samples} samples is no form of the catalogue")


def audit_form(index: int, seed: int) -> AuditReport:
    """The audit of one form of the catalogue."""
    form = CATALOGUE[index]
    return audit(form.loss, samples=form.samples, name=form.name, seed=seed)


def audit_catalogue(
    *, seed: int = 0, on_report: Callable[[AuditReport], None] | None = None
) -> list[AuditReport]:
    """Audit every form in two processes; the reports are in the catalogue's order.

    `on_report` is called as each ends. An interruption ends the workers and is passed on.
    """
    audits = partial(audit_form, seed=seed)
    return in_order(audits, range(len(CATALOGUE)), on_result=on_report)
