import json
import re

import numpy as np
import pytest
from support.sampled_counts import base_rates, rows_of, sampled, shifted, write_rows
from support.small_comparison import small_comparison

from dph_theory import excess_kl
from dph_theory.checkpoints import Comparison, PairedCounts, compare, read_counts, sentences
from dph_theory.checkpoints.counts import prompt_row
from dph_theory.checkpoints.kl import kl_spent
from dph_theory.checkpoints.report import p_value_text, shortened, tables
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, from_json, record


def compared(folder, base, run, n=24, **options):
    """Of the counts of correct answers among n, or of rows."""
    read = []
    for name, side in (("base", base), ("run", run)):
        rows = rows_of(np.array(n), side) if isinstance(side, np.ndarray) else side
        read.append(read_counts(write_rows(folder / f"{name}.jsonl", rows)))
    return compare(*read, **options)


def counts(pairs):
    return pairs.base_c, pairs.run_c


def lossy():
    rng = np.random.default_rng(0)
    before = base_rates(rng, 200)
    return counts(sampled(rng, before, np.where(rng.random(200) < 0.4, 0.0, np.minimum(1, before * 1.5)), 24))


def moved(seed, shift, spread=0.0):
    return counts(shifted(np.random.default_rng(seed), 150, 24, shift, spread=spread))


def unchanged(n):
    rng = np.random.default_rng(0)
    return counts(sampled(rng, before := base_rates(rng, 60), before, n))


LOST = r"\d+ of \d+ solved prompts lost \(by chance \d+\.\d\), \d+ of \d+ others gained"
LINES = {
    "a loss of prompts": (lossy(), 24, {
        0: r"run.jsonl against base.jsonl: 200 prompts, 24 answers to each\.$",
        1: r"Pass@1 goes from 0\.\d{3} to 0\.\d{3} \(worse\), .*\(worse\)\.$", 3: LOST,
        2: r"Worse from a k between \d+ and \d+ on\.$",
        4: r"Groups of 8 all correct or all incorrect: 0\.\d{3} before, 0\.\d{3} after\.$",
        -2: r"No beta of a reverse KL fits: log odds of prompts move unequally \(p ",
        -1: r"Pass@\d+ falls by 0\.\d{3}: -0\.\d{3} by lost prompts"}),
    # Of 60 prompts 40 are solved more rarely, and 20 that were not are solved now and then.
    "a fall in spite of new prompts": ((np.repeat([22, 0], [40, 20]), np.repeat([4, 1], [40, 20])), 24,
                                       {-1: r".*: \+[\d.]+ by lost prompts, -[\d.]+ by rarer answers\.$"}),
    "a base that never succeeds": ((np.zeros(40, int), np.arange(40) % 5), 24, {
        2: "0 of 0 solved prompts lost, ",
        -2: r"No log odds are compared: on every prompt a side is always or never correct\.$"}),
    "shifts that vary": (moved(3, 0.5, 2.5), 24, {-2: "No beta of a reverse KL fits"}),
    "one shift": (moved(4, 0.8), 24, {
        -2: r"All log odds rise alike, as at a reverse-KL optimum: beta 1\.\d+ \[\d\.\d+, \d\.\d+\]\.$"}),
    "one fall": (moved(4, -0.8), 24, {-2: r"All log odds move alike, by -0\.\d+ .*: no rise, so no beta\.$"}),
    "nothing changed": (unchanged(8), 8, {-2: r"No change of the pass rates is established \(p = "}),
    "one answer to each": ((np.repeat([0, 1], [120, 80]), np.repeat([1, 0], [160, 40])), 1, {
        2: r"40 of 80 solved prompts lost, 120 of 120 others gained\.$",
        -2: r"One answer a prompt gives only means: no shift of the log odds is identified\.$"}),
    "everything solved": ((np.full(3, 4), np.full(3, 4)), 4, {
        -3: r"Groups of 4 all correct or all incorrect: 1\.000 before, 1\.000 after\.$",
        -2: "No log odds are compared: "}),
    "everything lost": ((np.full(40, 4), np.full(40, 0)), 4, {-1: r"Pass@[12] falls by 1\.000: "}),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_sentences(tmp_path, case):
    (base, run), n, expected = LINES[case]
    found = compared(tmp_path, base, run, n)
    lines = sentences(found)
    assert len(lines) == 5 + (n > 1) + any(line.startswith("Worse from") for line in lines)
    for place, words in expected.items():
        assert re.match(words, lines[place]), lines[place]
    assert all(len(line) <= 80 for line in lines)
    assert "inf" not in " ".join(lines)
    write_json(tmp_path / "found.json", as_json(found))
    assert from_json(Comparison, json.loads((tmp_path / "found.json").read_text())) == found


def test_all_repeats_at_its_seed(tmp_path):
    found, again = (compared(tmp_path, *moved(4, 0.8), 24, seed=3) for _ in range(2))
    assert found == again
    assert (found.prompts, found.spending) == (150, None)


BASE, RUN = np.array([0.15, 0.1, 0.45, 0.3]), np.array([0.3, 0.25, 0.25, 0.2])
VALID = np.array([True, True, False, False])


def drawn(rng, prompts, n, verdicts=True):
    """Rows of answers drawn from the run, and counts of the base."""
    rows = []
    for i in range(prompts):
        answers = rng.choice(4, n, p=RUN)
        verdict = {"correct": VALID[answers].astype(int).tolist()} if verdicts else {}
        ratio = np.log(RUN / BASE)[answers].tolist()
        rows.append(
            prompt_row({"id": i, "n": n, "c": int(VALID[answers].sum()), "log_ratio": ratio, **verdict})
        )
    base_c = rng.binomial(n, BASE[VALID].sum(), prompts)
    return rows, PairedCounts.from_counts(n, base_c, n, [r.c for r in rows])


def test_the_total_is_the_least_and_the_excess_whose_parts_tend_to_the_decomposition():
    truth = excess_kl(RUN, BASE, VALID)
    found = kl_spent(*drawn(np.random.default_rng(0), 2000, 60))
    expected = (truth.total, truth.pass_rate, truth.excess, truth.valid, truth.invalid)
    given = (found.total, found.least, found.excess, found.correct, found.incorrect)
    for place, (estimate, value) in enumerate(zip(given, expected, strict=True)):
        assert estimate.value == pytest.approx(value, abs=2.5 * (estimate.high - estimate.low) / 2), place
    assert found.total.value == pytest.approx(found.least.value + found.excess.value)
    assert found.excess.value == pytest.approx(found.correct.value + found.incorrect.value)


def test_without_verdicts_there_are_no_parts_and_base_rates_of_zero_and_one_are_left_out():
    assert kl_spent(*drawn(np.random.default_rng(1), 5, 20, verdicts=False)).correct is None
    rows = [prompt_row({"id": i, "n": 4, "c": 2, "kl": 0.5}) for i in range(3)]
    found = kl_spent(rows, PairedCounts.from_counts(4, [0, 2, 1], 4, 2))
    assert (found.prompts, found.left_out) == (2, 1)


@pytest.mark.parametrize(
    ("base_kl", "hashes", "told"),
    [(0.0, None, True), (0.4, None, False), (0.0, ("a", "a"), True), (0.0, ("a", "b"), False)],
)
def test_a_kl_from_another_model_than_the_base_is_left_out(tmp_path, base_kl, hashes, told):
    """As of two trained runs, each of which has its KL from the model at which its training began."""
    read = []
    for name, kl, of, model in (("base", base_kl, "model", 0), ("run", 0.5, "initial", 1)):
        answers = {"correct": [1, 0], "log_pi": [kl, kl], "log_ref": [0.0, 0.0], "styles": [None, None]}
        results = {"sets": {"x": {"prompts": [{"id": i} | answers for i in range(6)]}}}
        results |= {of: {"hash": hashes[model]}} if hashes else {}
        (tmp_path / name).mkdir()
        stored = record("full_scale.evaluation", seed=0, config={}, results=results, findings=[])
        write_json(tmp_path / name / "evaluation.json", stored)
        read.append(read_counts(tmp_path / name))
    found = compare(*read)
    assert (found.spending is not None) == told
    assert ("no KL: run has it from another model than base" in found.notes) != told


def test_every_table_has_the_numbers_of_its_comparison():
    found = small_comparison()
    made = {table.title: table for table in tables(found)}
    drawn = tables(found)[0]
    assert drawn.title == "Pass@k; intervals hold at all k at once (95%)"
    assert [row[0] for row in drawn.rows] == [1, 2, 4, 8, 16]
    assert drawn.rows[-1][1] == f"{found.curves.base[-1]:.3f}"
    assert [row[4] for row in drawn.rows] == ["unsure", "unsure", *3 * ["worse"]]
    assert made[f"{len(found.fell)} prompts that fell, beyond chance"].rows[0][0] == found.fell[0].id


def test_the_uniform_guess_stands_beside_pass_at_k_where_the_answers_are_counted(tmp_path):
    found = compared(tmp_path, *moved(4, 0.8), 24, possible_answers=10)
    table = tables(found)[0]
    assert table.head[-1] == "guess of 10"
    assert [row[-1] for row in table.rows] == [f"{1 - 0.9 ** row[0]:.3f}" for row in table.rows]
    assert f"A uniform guess at 10 possible answers: Pass@1 0.100, Pass@24 {1 - 0.9**24:.3f}." in sentences(
        found
    )
    assert tables(compared(tmp_path, *moved(4, 0.8), 24))[0].head[-1] == "trained is"


def test_words_are_short_and_p_values_never_zero():
    assert (shortened("a\nb"), len(shortened("x" * 200))) == ("a b", 60)
    assert (p_value_text(0.0), p_value_text(0.0123)) == ("p < 1e-10", "p = 0.012")


def test_one_row_of_few_answers_is_named_and_does_not_shorten_the_curves(tmp_path):
    whole = [rows_of(np.array(24), side) for side in unchanged(24)]
    short = [[*rows, {"id": "odd", "n": 1, "c": 1}] for rows in whole]
    found, without = compared(tmp_path, *short), compared(tmp_path, *whole)
    assert found.curves == without.curves
    assert "1 prompts have fewer than 24 answers ('odd' has 1): Pass@k is of the other 60" in found.notes
    left_out = compared(tmp_path, *short, min_n=24)
    assert left_out.curves == without.curves
    assert "1 prompts with fewer answers than asked for are left out" in left_out.notes
    many = [rows[:9] + [r | {"n": 2, "c": 1} for r in rows[9:20]] + rows[20:] for rows in whole]
    assert "k goes up to 2 because of 11 prompts with few" in compared(tmp_path, *many).notes[0]


def test_a_file_against_itself_claims_nothing(tmp_path):
    base, _ = unchanged(8)
    found = compared(tmp_path, base, base, 8)
    words = " ".join([*sentences(found), *found.notes, *(table.markdown() for table in tables(found))])
    assert "run.jsonl, base.jsonl are equal byte for byte" in words
    assert not re.search(r"as few as|\[0, 0\]|\[0\.00, 0\.00\]", words)
    assert sentences(found)[-2] == "No log odds are compared: every prompt says the same."
