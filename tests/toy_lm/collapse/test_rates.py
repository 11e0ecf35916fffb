import pytest

from toy_lm.collapse.rates import rates
from toy_lm.collapse.results import Certificate, Fit, Target

NUMBERS = dict.fromkeys(
    ("top", "top_share", "overlap", "forward_kl", "kl", "excess_valid", "excess_invalid"), 0.0
)
CERTIFICATE = dict.fromkeys(("unconverged", "gap", "gradient_norm", "curvature", "dirac"), 0)


def target(case, effective, top_share):
    return Target(
        case=case, base_rate=0.1, entropy=0.0, effective=effective, top_share=top_share, top_word="ab",
        initial=(1.0,), transition=((1.0,),),
    )  # fmt: skip


TARGETS = [target(0, 8.0, 0.4), target(1, 2.0, 0.8), target(2, 1.0, 0.95)]


def fit(case, effective, collapsed, **more):
    more |= {"validity": 0.5, "coverage": 0.25, "excess_kl": float(case), "family": "f", "top_word": "ab"}
    return Fit(case=case, effective=effective, collapsed=collapsed, **NUMBERS, **more)


def certificate(agree):
    return Certificate(starts=9, agree=agree, boundary=False, **CERTIFICATE)


def test_bases_whose_target_is_one_word_do_not_count():
    reverse = {"objective": "reverse_kl", "mu": 0.9}
    fits = [
        fit(
            case,
            effective,
            collapsed,
            **reverse,
            method="global",
            is_global=True,
            certificate=certificate(agree),
        )
        for case, effective, collapsed, agree in ((0, 2.0, True, 3), (1, 2.0, False, 2), (2, 1.0, False, 9))
    ]
    fits += [fit(case, 1.0, True, **reverse, method="ascent", is_global=case == 0) for case in range(3)]
    fits += [fit(0, 4.0, False, objective="alpha", alpha=0.5, method="global")]
    best, ascent, alpha = rates(fits, TARGETS)
    assert (best.bases, best.collapsed, best.is_global, best.confirmed) == (2, 1, 2, 1)
    assert best.effective_kept == pytest.approx((2 / 8 + 2 / 2) / 2)
    assert (best.validity, best.coverage, best.excess_kl) == (0.5, 0.25, 0.5)
    assert (ascent.method, ascent.collapsed, ascent.is_global, ascent.confirmed) == ("ascent", 2, 1, None)
    assert (alpha.alpha, alpha.mu, alpha.bases, alpha.effective_kept) == (0.5, None, 1, 0.5)
    assert alpha.is_global is None
