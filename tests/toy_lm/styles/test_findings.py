import re

from support.tiny_styles_base import end, made_up, results_of

from toy_lm.styles.findings import findings


def numbers(sentence):
    return [float(found) for found in re.findall(r"\b\d+\.\d+\b", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results():
    fallen = {"curve": {"excess": [0.0, 0.3, 0.6], "pass_at_16": [0.9, 0.9, 0.8]}}
    train, held_out, meter = findings(
        results_of(
            made_up(
                A={"end": end(0.5, 0.8, 1.0), **fallen},
                B={"end": end(0.45, 0.95, 1.0), "held_out": end(0.1, 0.2, 1.0)},
            )
        )
    )
    assert numbers(train) == [0.4, 0.9, 0.45, 0.95, 0.5, 0.8]
    assert "0 of 2 methods" in held_out
    assert numbers(held_out) == [0.9]
    assert re.findall(r"\d+\.?\d*", meter)[-4:] == ["1", "1", "0", "1"]
