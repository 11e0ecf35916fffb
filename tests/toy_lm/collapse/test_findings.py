import pytest

from toy_lm.collapse.findings import findings, label, select


def said(record, *words):
    """The findings that hold all of these words."""
    found = findings(record["results"])
    return [sentence for sentence in found if all(word in sentence for word in words)]


def planted(record, changes, **wanted):
    """Change the fits of the reference that are wanted."""
    lines = select(record["results"]["reference"]["fits"], **wanted)
    assert lines
    for line in lines:
        line.update(changes)
    return record


def test_they_are_the_records_own(small_record):
    assert findings(small_record["results"]) == small_record["findings"]


def test_collapse_is_said_where_it_is_and_not_where_it_is_not(small_record):
    (sentence,) = said(small_record, "homogeneous bigrams: the global optimum", "collapses onto")
    assert "up to lambda = 4 and collapses onto ()()()() beyond" in sentence
    assert "The family decides" in said(small_record, "family ")[-1]
    planted(small_record, {"collapsed": False}, objective="reverse_kl", method="global")
    assert not said(small_record, "homogeneous bigrams: the global optimum", "collapses onto")
    assert said(small_record, "The family does not decide: neither collapsed")
    planted(small_record, {"collapsed": True}, objective="reverse_kl", method="global")
    assert len(said(small_record, "bigrams: the global optimum collapses onto")) == 2
    assert said(small_record, "The family does not decide: both collapsed")


def test_the_jump_is_said_with_its_place_or_denied(small_record):
    (sentence,) = said(small_record, "In the homogeneous family")
    assert "jumps at lambda = 4.1755" in sentence
    for leap in small_record["results"]["reference"]["leaps"]:
        leap["jump"] = None
    (sentence,) = said(small_record, "In the homogeneous family")
    assert sentence.endswith("between lambda = 4 and 4.5 along one branch: steep, but no jump.")


def test_what_other_optimisers_reach_is_told_apart(small_record):
    (sentence,) = said(small_record, "global optima of the reverse KL are collapsed")
    assert "ascent from the base collapses at 2 of these and stops 0.251 above it at lambda = 4.5" in sentence
    planted(small_record, {"is_global": True, "collapsed": True}, method="ascent")
    (sentence,) = said(small_record, "global optima of the reverse KL are collapsed")
    assert "ascent from the base collapses at 3 of these and reaches every optimum" in sentence
    assert "annealing from the base collapses at 2 of these and stops" in sentence


def test_the_certificate_names_its_weakest(small_record):
    fits = small_record["results"]["reference"]["fits"]
    (fit,) = select(fits, alpha=0.75, family="homogeneous")
    fit["certificate"].update(agree=1, gap=0.0123)
    (sentence,) = said(small_record, "Certificate")
    assert "at least 1 of 7 (the fewest for alpha = 0.75, homogeneous)" in sentence
    assert "the nearest other minimum lies 0.012 above" in sentence
    for line in fits:
        if "certificate" in line:
            line["certificate"].update(gap=float("inf"))
    assert said(small_record, "Certificate", "no other minimum was seen")


@pytest.mark.parametrize(
    ("coverage", "validity", "words"),
    [
        (0.9, 0.3, "buys coverage with validity"),
        (0.9, 1.0, "gains coverage at no cost in validity"),
        (0.1, 0.3, "gains no coverage and costs validity"),
        (0.1, 1.0, "gains no coverage ("),
    ],
)
def test_what_the_forward_kl_buys(small_record, coverage, validity, words):
    changes = {"coverage": coverage, "validity": validity}
    planted(small_record, changes, family="homogeneous", objective="forward_kl")
    (sentence,) = said(small_record, "Forward KL to p_*, homogeneous")
    assert words in sentence


def test_alpha_is_a_threshold_or_it_is_not(small_record):
    (sentence,) = said(small_record, "alpha-divergence to p_*, homogeneous")
    assert "0.372/2.26 at 0.75" in sentence
    assert "from alpha = 0.5 down, at validity 1.000, and from 0.5 down its infimum is the Dirac" in sentence
    assert "no smooth dial, but a threshold (no second minimum was seen: it slides there)" in sentence
    (fit,) = select(small_record["results"]["reference"]["fits"], alpha=0.75, family="homogeneous")
    fit["certificate"]["gap"] = 0.1
    assert said(small_record, "alpha-divergence to p_*, homogeneous", "it may jump")
    planted(small_record, {"collapsed": False}, objective="alpha", family="homogeneous")
    (sentence,) = said(small_record, "alpha-divergence to p_*, homogeneous")
    assert sentence.endswith("It collapses at none of them.")


def test_the_meter_is_read_by_its_parts_where_the_total_misleads(small_record):
    (sentence,) = said(small_record, "Excess KL, homogeneous")
    assert sentence.endswith("only the valid part orders them by diversity.")
    planted(small_record, {"excess_kl": 0.1}, objective="forward_kl", family="homogeneous")
    (sentence,) = said(small_record, "Excess KL, homogeneous")
    assert sentence.endswith("the total orders them by diversity.")


def test_plain_ascent_of_the_reward(small_record):
    (sentence,) = said(small_record, "Plain ascent of E[v]")
    assert "homogeneous it collapses onto" in sentence
    planted(small_record, {"collapsed": False}, objective="reward")
    (sentence,) = said(small_record, "Plain ascent of E[v]")
    assert "collapses onto" not in sentence


def test_target_validity_predicted_and_reached(small_record):
    (sentence,) = said(small_record, "Target validity, homogeneous")
    assert "0.7 -> 0.087, 0.9 -> 0.959; 1 of 2 fall short" in sentence
    assert "mu = 0.7, is off by -0.613" in sentence
    planted(small_record, {"validity": 0.95}, mu=0.7, family="homogeneous", method="global")
    (sentence,) = said(small_record, "Target validity, homogeneous")
    assert "0 of 2 fall short, and the farthest, mu = 0.7, is off by +0.250" in sentence


def test_rates_over_random_bases(small_record):
    rates = small_record["results"]["random"][1]["rates"]
    (optimum,) = select(rates, family="homogeneous", method="global", mu=0.999)
    optimum.update(collapsed=0, effective_kept=0.1, confirmed=1)
    (sentence,) = said(small_record, "Random counts, homogeneous")
    assert "reverse KL for mu = 0.999 global 0 (0.10), ascent " in sentence
    assert "1 of the global optima were met from 3 starts or more." in sentence
    assert sentence.endswith("yet few are left.")
    optimum.update(collapsed=2, effective_kept=0.8)
    (sentence,) = said(small_record, "Random counts, homogeneous")
    assert "global 2 (0.80)" in sentence
    assert not sentence.endswith("yet few are left.")


def test_where_no_base_has_anything_to_lose(small_record):
    small_record["results"]["random"][0]["rates"] = []
    assert len(said(small_record, "Random brackets", "every p_* is a single word")) == 2


def test_labels():
    lines = [
        {"objective": "alpha", "alpha": 0.5},
        {"objective": "reverse_kl", "lambda": 4.5, "mu": 0.9},
        {"objective": "reverse_kl", "mu": 0.9},
        {"objective": "forward_kl"},
        {"objective": "reward"},
    ]
    assert [label(x) for x in lines] == ["alpha = 0.5", "lambda = 4.5", "mu = 0.9", "forward KL", "E[v]"]
