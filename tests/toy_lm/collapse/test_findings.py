import re
from dataclasses import replace

from toy_lm.collapse import read
from toy_lm.collapse.findings import findings


def numbers(sentence):
    return [float(found) for found in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results(small_record):
    results = read(small_record)
    reference = results.reference
    reverse, forward, ascent = findings(results)
    assert small_record["findings"] == [reverse, forward, ascent]
    last = [reference.optima(family)[-1] for family in ("homogeneous", "inhomogeneous")]
    kept = [
        round(number, digits) for fit in last for number, digits in ((fit.effective, 2), (fit.validity, 3))
    ]
    assert numbers(reverse)[-5:] == [*kept, round(reference.target.effective, 2)]
    assert numbers(forward)[:2] == [round(reference.forward_kl("homogeneous").effective, 2), 0.283]
    assert numbers(ascent)[:2] == [1, 10]


def test_the_sentences_follow_the_results(small_record):
    results = read(small_record)
    fits = tuple(
        replace(fit, is_global=True) if fit.method == "ascent" else fit for fit in results.reference.fits
    )
    changed = replace(results, reference=replace(results.reference, fits=fits))
    assert numbers(findings(changed)[2])[0] == 0
