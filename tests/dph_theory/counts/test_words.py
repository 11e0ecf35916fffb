from dataclasses import replace

import numpy as np
from support.sampled_counts import base_rates, rows_of, sampled, write_rows

from dph_theory.counts import confront, five_lines, matched, read_counts
from dph_theory.counts.words import _spans, chance


def confronted(folder, **counts):
    """The confrontation of two files, base and run, of so many correct answers of 24 to each prompt."""
    paths = [write_rows(folder / f"{name}.jsonl", rows_of(np.array(24), c)) for name, c in counts.items()]
    base, run = map(read_counts, paths)
    return confront(base, run, matched(base, run), draws=100)


def test_five_lines_tell_a_loss_of_prompts(tmp_path):
    rng = np.random.default_rng(0)
    before = base_rates(rng, 200)
    after = np.where(rng.random(200) < 0.4, 0.0, np.minimum(1, before * 1.5))
    pairs = sampled(rng, before, after, 24).pairs
    lines = five_lines(confronted(tmp_path, base=pairs.base_c, run=pairs.run_c))
    assert len(lines) == 5
    assert lines[0] == "run.jsonl against base.jsonl on 200 prompts, 24 answers to each."
    assert "the first k at which it is worse lies between" in lines[1]
    assert "p < 1e-10" in lines[2]
    assert "one shift does not fit all prompts" in lines[3]
    assert "because more prompts are lost than newly solved" in lines[4]


def test_a_fall_in_spite_of_newly_solved_prompts_is_told_as_such(tmp_path):
    # Of 60 prompts 40 are solved more rarely, and 20 that were not are solved now and then.
    found = confronted(tmp_path, base=np.repeat([22, 0], [40, 20]), run=np.repeat([4, 1], [40, 20]))
    last = five_lines(found)[4]
    assert "because prompts still solved are solved more rarely, less" in last
    assert "because more prompts are newly solved than lost" in last
    assert "lost than newly solved" not in last
    both = replace(found, base=replace(found.base, cut_off=True), run=replace(found.run, cut_off=True))
    assert "; run.jsonl ends in an unfinished line; base.jsonl ends in an" in five_lines(both)[0]


def test_neighbours_are_joined_and_long_lists_cut():
    assert _spans((1, 2, 3, 5, 8, 9)) == "1 to 3, 5, 8 to 9"
    assert _spans((1, 3, 5, 7, 9)) == "1, 3, 5, 7, ..."
    assert _spans(()) == ""


def test_small_p_values_are_not_told_as_zero():
    assert chance(0.0) == "p < 1e-10"
    assert chance(0.0123) == "p = 0.012"
