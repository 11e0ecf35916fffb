import pytest

from toy_lm.collapse.rates import rates

TARGETS = [
    {"case": 0, "effective": 8.0, "top_share": 0.4},
    {"case": 1, "effective": 2.0, "top_share": 0.8},
    {"case": 2, "effective": 1.0, "top_share": 0.95},
]


def line(case, effective, collapsed, **more):
    measures = {"validity": 0.5, "coverage": 0.25, "excess_kl": float(case)}
    return {"case": case, "effective": effective, "collapsed": collapsed, "family": "f"} | measures | more


def test_bases_whose_target_is_one_word_do_not_count():
    reverse = {"objective": "reverse_kl", "mu": 0.9}
    fits = [
        line(case, effective, collapsed, **reverse, method="global", is_global=True,
             certificate={"agree": agree})
        for case, effective, collapsed, agree in ((0, 2.0, True, 3), (1, 2.0, False, 2), (2, 1.0, False, 9))
    ]  # fmt: skip
    fits += [line(case, 1.0, True, **reverse, method="ascent", is_global=case == 0) for case in range(3)]
    fits += [line(0, 4.0, False, objective="alpha", alpha=0.5, method="global")]
    best, ascent, alpha = rates(fits, TARGETS)
    assert (best["bases"], best["collapsed"], best["is_global"], best["confirmed"]) == (2, 1, 2, 1)
    assert best["effective_kept"] == pytest.approx((2 / 8 + 2 / 2) / 2)
    assert (best["validity"], best["coverage"], best["excess_kl"]) == (0.5, 0.25, 0.5)
    assert (ascent["method"], ascent["collapsed"], ascent["is_global"]) == ("ascent", 2, 1)
    assert "confirmed" not in ascent
    assert (alpha["alpha"], alpha["mu"], alpha["bases"], alpha["effective_kept"]) == (0.5, None, 1, 0.5)
    assert "is_global" not in alpha
