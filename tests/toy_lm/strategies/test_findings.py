import re
from dataclasses import replace

from support.small_strategies_run import small_record

from toy_lm.strategies import read
from toy_lm.strategies.findings import findings


def numbers(sentence):
    return [float(found) for found in re.findall(r"[-+]?\b\d+\.\d+\b", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results():
    config, results = read(small_record())
    methods, direction, random = findings(config, results)
    assert small_record()["findings"] == [methods, direction, random]
    scores = (results.base, results.method("GRPO"), results.method("DPH-F"))
    assert numbers(methods) == [round(x, 3) for score in scores for x in (score.pass_at_1, score.pass_at_k)]
    strengths = [row for block in results.sweep for row in block.strength]
    assert numbers(direction)[0] in strengths
    assert numbers(random)[0] == round(results.random_tasks[0].pass_at_k_change[0], 3)


def test_the_sentences_follow_the_results():
    config, results = read(small_record())
    changed = replace(results, base=replace(results.base, pass_at_1=0.125))
    assert numbers(findings(config, changed)[0])[0] == 0.125
