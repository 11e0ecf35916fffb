from support.tiny_styles_base import end, made_up

from toy_lm.styles.findings import findings
from toy_lm.styles.summary import summary


def said(**runs):
    results = made_up(**runs)
    return findings(results | {"summary": summary(results)})


def about(sentences, words):
    return [sentence for sentence in sentences if words in sentence]


GOOD, COLLAPSED, IDLE = end(0.55, 0.92, 1.0), end(0.6, 0.7, 0.95, entropy=0.3), end(0.4, 0.9, 1.0)


def test_methods_are_told_apart_by_what_they_pay():
    sentences = said(A={"end": GOOD}, B={"end": COLLAPSED}, C={"end": IDLE})
    assert about(sentences, "Pass@16 falls by more than 0.05 with") == [
        "Pass@1 rises by more than 0.02 and Pass@16 falls by more than 0.05 with B "
        "(Pass@1 0.600, Pass@16 0.700, style entropy 0.30)."
    ]
    assert "with A (" in about(sentences, "Pass@16 falls by no more than 0.05")[0]
    assert "with C (" in about(sentences, "Pass@1 rises by no more than")[0]


def test_the_sentences_change_with_the_numbers():
    other = said(A={"end": COLLAPSED}, B={"end": GOOD}, C={"end": GOOD})
    assert "with A (" in about(other, "falls by more than")[0]
    assert "with B (" in about(other, "Pass@16 falls by no more than 0.05")[0]
    assert not about(other, "Pass@1 rises by no more than")


def test_held_out_prompts_are_judged_against_the_base():
    sentences = said(A={"end": GOOD, "held_out": IDLE}, B={"end": GOOD, "held_out": end(0.41, 0.8, 0.9)})
    assert about(sentences, "base's Pass@1 of")[0].startswith(
        "On held-out prompts 1 of 2 methods exceed the base's Pass@1 of 0.400; the best is B with 0.410"
    )
    assert "no method exceeds the base's Pass@16 of 0.900" in about(sentences, "base's Pass@16 of")[0]


def test_targets_are_set_beside_what_is_reached():
    sentence = about(said(A={"end": GOOD, "mu": 0.6}), "KL control")[0]
    assert (
        "mean validity 0.6 reaches 0.550 from the base's 0.400 in 20 updates, with excess KL 0.100"
        in sentence
    )
    assert not about(said(A={"end": GOOD}), "KL control")


def test_the_meter_is_reported_with_its_false_alarms():
    fallen = {"excess": [0.0, 0.2, 0.6], "pass@16": [0.9, 0.9, 0.8]}
    alarmed = {"excess": [0.0, 0.2, 0.2]}
    sentence = about(
        said(A={"end": COLLAPSED, "curve": fallen}, B={"end": GOOD, "curve": alarmed}), "by 0.1 nats"
    )[0]
    assert "in 1 of 1 runs that fell, together with it in 0, median lead 10 updates" in sentence
    assert "of 1 that did not fall, 1 had it too" in sentence


def test_a_broken_guarantee_would_be_said():
    assert "in 0 of 3 measurements" in about(said(A={"end": GOOD}), "guarantee")[0]
    broken = {"guarantee_margin": [0.0, -1e-3, -1e-15]}
    assert "in 1 of 3 measurements" in about(said(A={"end": GOOD, "curve": broken}), "guarantee")[0]


def test_the_guarantee_is_tightest_where_the_gap_is_least():
    loose = {"guarantee": [0.9, 0.6, 0.3]}
    sentence = about(said(A={"end": GOOD}, B={"end": GOOD, "curve": loose}), "tightest")[0]
    assert (
        sentence
        == "At the end it is tightest for A (0.900 against 0.950), loosest for B (0.300 against 0.950)."
    )


def test_methods_that_the_seeds_do_not_tell_apart_are_said_not_to_be():
    def both(first, second):
        runs = {"A": first[0], "B": second[0]}
        results = made_up(**{n: {"end": end(0.5, x, 1.0), "strength": 0.3} for n, x in runs.items()})
        for run, (_, again) in zip(list(results["runs"]), (first, second), strict=True):
            ends = dict.fromkeys(("train", "held_out"), end(0.5, again, 1.0))
            results["runs"].append(run | {"seed": 1, "end": ends})
        results["bases"].append(results["bases"][0] | {"seed": 1})
        return about(findings(results | {"summary": summary(results)}), "intervals of Pass@16")

    assert both((0.9, 0.8), (0.8, 0.7))[0].endswith("all overlap: the seeds do not tell them apart.")
    assert both((0.9, 0.901), (0.7, 0.701)) == ["The 95% intervals of Pass@16 of A, B do not all overlap."]


def test_strengths_places_and_lengths_are_compared():
    sentences = said(
        A={"end": GOOD, "groups": ["main"]},
        W={"end": COLLAPSED, "groups": ["strengths", "places"], "strength": 0.1, "place": "rehearsed"},
        X={"end": GOOD, "groups": ["strengths"], "strength": 0.1},
        Y={"end": GOOD, "groups": ["places"], "strength": 0.1, "place": "all"},
        Z={"end": COLLAPSED, "groups": ["long"], "updates": 40, "label": "A"},
    )
    assert (
        "Pass@16 lies between 0.700 (W) and 0.920 (X); the base has 0.900."
        in about(sentences, "At strength 0.1 (one seed) P")[0]
    )
    assert "changes Pass@1 by -0.050 and Pass@16 by +0.220" in about(sentences, "instead of D_pef")[0]
    assert about(sentences, "A trained for 40 updates, not 20 (one seed): from Pass@1 0.550")
    assert not about(said(A={"end": GOOD}), "At strength")
