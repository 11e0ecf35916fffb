import json
import re

import numpy as np
import pytest
from support.sampled_counts import base_rates, rows_of, sampled, shifted, write_rows
from support.small_confrontation import small_confrontation

from dph_theory import excess_kl
from dph_theory.counts import Confrontation, Pairs, confront, five_lines, matched, read_counts
from dph_theory.counts.kl import kl_spent
from dph_theory.counts.pairs import row
from dph_theory.counts.words import chance, shortened, tables
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, from_json, record


def confronted(folder, rng, **options):
    pairs = shifted(rng, 60, 12, 1.0).pairs
    base = read_counts(write_rows(folder / "base.jsonl", rows_of(pairs.base_n, pairs.base_c)))
    run = read_counts(write_rows(folder / "run.jsonl", rows_of(pairs.run_n, pairs.run_c)))
    return confront(base, run, matched(base, run), draws=50, **options)


def test_all_that_is_told_comes_back_from_json_and_repeats_at_its_seed(tmp_path):
    found = confronted(tmp_path, np.random.default_rng(0), power=[(0.05, 1)], seed=3)
    write_json(tmp_path / "found.json", as_json(found))
    assert from_json(Confrontation, json.loads((tmp_path / "found.json").read_text())) == found
    again = confronted(tmp_path, np.random.default_rng(0), power=[(0.05, 1)], seed=3)
    assert again == found
    assert found.prompts == 60
    assert found.curves.k == tuple(range(1, 13))
    assert found.best in found.laws
    assert found.spending is None


def test_checkpoints_that_solve_everything_or_nothing_are_told_too(tmp_path):
    paths = [write_rows(tmp_path / f"{c}", rows_of(np.full(3, 4), np.full(3, c))) for c in (0, 4)]
    nothing, everything = map(read_counts, paths)
    for base, run in ((nothing, everything), (everything, nothing), (everything, everything)):
        found = confront(base, run, matched(base, run), draws=20)
        write_json(tmp_path / "found.json", as_json(found))
        assert len(five_lines(found)) == 5


def words_confronted(folder, **counts):
    """The confrontation of two files, base and run, of so many correct answers of 24 to each prompt."""
    paths = [write_rows(folder / f"{name}.jsonl", rows_of(np.array(24), c)) for name, c in counts.items()]
    base, run = map(read_counts, paths)
    return confront(base, run, matched(base, run), draws=100)


def test_five_lines_tell_a_loss_of_prompts(tmp_path):
    rng = np.random.default_rng(0)
    before = base_rates(rng, 200)
    after = np.where(rng.random(200) < 0.4, 0.0, np.minimum(1, before * 1.5))
    pairs = sampled(rng, before, after, 24).pairs
    lines = five_lines(words_confronted(tmp_path, base=pairs.base_c, run=pairs.run_c))
    assert lines[0] == "run.jsonl against base.jsonl: 200 prompts, 24 answers to each."
    assert lines[1].startswith("Pass@1 goes from ")
    assert lines[1].endswith("(worse).")
    assert re.match(
        r"\d+ of \d+ solved prompts lost \(by chance \d+\.\d\), \d+ of \d+ others gained", lines[2]
    )
    assert lines[3].startswith("Nearest law: ")
    assert re.match(r"Pass@\d+ falls by [\d.]+ points: -[\d.]+ by lost prompts", lines[4])
    assert all(len(line) <= 80 for line in lines)


def test_a_fall_in_spite_of_newly_solved_prompts_is_told_as_such(tmp_path):
    # Of 60 prompts 40 are solved more rarely, and 20 that were not are solved now and then.
    found = words_confronted(tmp_path, base=np.repeat([22, 0], [40, 20]), run=np.repeat([4, 1], [40, 20]))
    last = five_lines(found)[4]
    assert re.search(r": \+[\d.]+ by lost prompts, -[\d.]+ by rarer answers\.$", last)


def test_small_p_values_are_not_told_as_zero():
    assert chance(0.0) == "p < 1e-10"
    assert chance(0.0123) == "p = 0.012"


BASE = np.array([0.15, 0.1, 0.45, 0.3])
RUN = np.array([0.3, 0.25, 0.25, 0.2])
VALID = np.array([True, True, False, False])


def drawn(rng, prompts=40, n=20, verdicts=True):
    """Rows of answers drawn from the run, and counts of the base."""
    rows = []
    for i in range(prompts):
        answers = rng.choice(4, n, p=RUN)
        verdict = {"correct": VALID[answers].astype(int).tolist()} if verdicts else {}
        ratio = np.log(RUN / BASE)[answers].tolist()
        rows.append(row({"id": i, "n": n, "c": int(VALID[answers].sum()), "log_ratio": ratio, **verdict}))
    base_c = rng.binomial(n, BASE[VALID].sum(), prompts)
    return rows, Pairs.of(n, base_c, n, [r.c for r in rows])


def test_the_total_is_the_least_and_the_excess_whose_parts_tend_to_the_decomposition():
    truth = excess_kl(RUN, BASE, VALID)
    found = kl_spent(*drawn(np.random.default_rng(0), prompts=2000, n=60))
    wanted = (truth.total, truth.validity, truth.excess, truth.valid, truth.invalid)
    given = (found.total, found.least, found.excess, found.correct, found.incorrect)
    for name, (estimate, value) in enumerate(zip(given, wanted, strict=True)):
        assert estimate.value == pytest.approx(value, abs=2.5 * (estimate.high - estimate.low) / 2), name
    assert found.total.value == pytest.approx(found.least.value + found.excess.value)
    assert found.excess.value == pytest.approx(found.correct.value + found.incorrect.value)


def test_without_verdicts_there_are_no_parts_and_without_log_ratios_nothing():
    rows, pairs = drawn(np.random.default_rng(1), prompts=5, verdicts=False)
    found = kl_spent(rows, pairs)
    assert found.correct is None
    plain = [row({"id": r.id, "n": r.n, "c": r.c}) for r in rows]
    assert kl_spent(plain, pairs) is None


def test_prompts_whose_base_rate_is_not_known_are_left_out_and_counted():
    rows = [row({"id": i, "n": 4, "c": 2, "kl": 0.5}) for i in range(3)]
    found = kl_spent(rows, Pairs.of(4, [0, 2, 1], 4, 2))
    assert (found.prompts, found.left_out) == (2, 1)


@pytest.mark.parametrize(
    ("base_kl", "hashes", "told"),
    [(0.0, None, True), (0.4, None, False), (0.0, ("a", "a"), True), (0.0, ("a", "b"), False)],
)
def test_a_kl_from_another_model_than_the_base_is_left_out(tmp_path, base_kl, hashes, told):
    """As of two trained runs, each of which has its KL from the model at which its training began."""
    read = []
    for name, kl, place in (("base", base_kl, 0), ("run", 0.5, 1)):
        prompts = [
            {"id": i, "correct": [1, 0], "log_pi": [kl, kl], "log_ref": [0.0, 0.0], "styles": [None, None]}
            for i in range(6)
        ]
        models = {} if hashes is None else {("model", "initial")[place]: {"hash": hashes[place]}}
        results = {"sets": {"x": {"prompts": prompts}}, **models}
        stored = record("full_scale.evaluation", seed=0, config={}, results=results, findings=[])
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "evaluation.json", stored)
        read.append(read_counts(tmp_path / name))
    found = confront(*read, matched(*read), draws=20)
    assert (found.spending is not None) == told
    assert ("no KL is told: run has it from another model than base" in found.notes) != told


def test_every_table_has_the_numbers_of_its_confrontation():
    found = small_confrontation()
    made = {table.title: table for table in tables(found)}
    drawn = tables(found)[0]
    assert drawn.title.startswith("Pass@k; the differences' intervals hold at all k at once (95%)")
    assert [row[0] for row in drawn.rows] == [1, 2, 4, 8, 16]
    assert drawn.rows[-1][1] == f"{100 * found.curves.base[-1]:.1f}%"
    assert {row[4] for row in drawn.rows} <= {"better", "worse", "unsure"}
    assert len(made["Laws of training"].rows) == len(found.laws)
    assert made[f"{len(found.fell)} prompts that fell, beyond chance"].rows[0][0] == found.fell[0].id
    assert "To tell a difference of 0.1 in Pass@4 with 80% power" in made
    assert all(len(row) == len(table.head) for table in made.values() for row in table.rows)


def test_long_ids_take_one_line():
    assert shortened("a\nb") == "a b"
    assert len(shortened("x" * 200)) == 60


def confronted_counts(folder, base, run, **options):
    paths = [write_rows(folder / f"{name}.jsonl", rows) for name, rows in (("base", base), ("run", run))]
    base, run = map(read_counts, paths)
    min_n = options.pop("min_n", 1)
    return confront(base, run, matched(base, run, min_n=min_n), draws=100, **options)


def test_one_row_of_few_answers_is_named_and_does_not_shorten_the_curves(tmp_path):
    rng = np.random.default_rng(0)
    pairs = sampled(rng, base_rates(rng, 60), np.full(60, 0.4), 24).pairs
    whole = [rows_of(pairs.base_n, pairs.base_c), rows_of(pairs.run_n, pairs.run_c)]
    short = [[*rows, {"id": "odd", "n": 1, "c": 1}] for rows in whole]
    found, without = confronted_counts(tmp_path, *short), confronted_counts(tmp_path, *whole)
    assert found.curves.k == without.curves.k
    assert found.curves == without.curves
    assert "1 prompts have fewer than 24 answers ('odd' has 1): Pass@k is of the other 60" in found.notes
    left_out = confronted_counts(tmp_path, *short, min_n=24)
    assert left_out.curves == without.curves
    assert "1 prompts with fewer answers than asked for are left out" in left_out.notes
    many = [rows[:9] + [r | {"n": 2, "c": 1} for r in rows[9:20]] + rows[20:] for rows in whole]
    assert "k ends at 2 because of 11 prompts with few" in confronted_counts(tmp_path, *many).notes[0]
    with pytest.raises(ValueError, match="min_n=99 is not allowed: as many answers as some prompt has"):
        confronted_counts(tmp_path, *whole, min_n=99)


def test_a_base_that_never_succeeds_identifies_no_shift_and_no_law(tmp_path):
    found = words_confronted(tmp_path, base=np.zeros(40, int), run=np.arange(40) % 5)
    lines = five_lines(found)
    assert lines[2].startswith("0 of 0 solved prompts lost, ")
    assert lines[3] == "No law of training is identified: at every prompt one is always right, or never."
    assert not any(shown.title.startswith("Laws") for shown in tables(found))
    assert "inf" not in " ".join(lines)
    assert found.laws == ()


def test_data_that_reject_every_law_say_so_first(tmp_path):
    rng = np.random.default_rng(3)
    pairs = shifted(rng, 150, 24, 0.5, spread=2.5).pairs
    found = words_confronted(tmp_path, base=pairs.base_c, run=pairs.run_c)
    assert five_lines(found)[3].endswith("; it does not fit.")
    kept = shifted(rng, 150, 24, 0.8).pairs
    held = words_confronted(tmp_path, base=kept.base_c, run=kept.run_c)
    assert five_lines(held)[3].startswith("Nearest law: ")
    assert "not fit" not in five_lines(held)[3]


def test_no_law_is_named_where_nothing_changed_unless_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    pairs = sampled(rng, before := base_rates(rng, 60), before, 8).pairs
    sides = rows_of(pairs.base_n, pairs.base_c), rows_of(pairs.run_n, pairs.run_c)
    found = confronted_counts(tmp_path, *sides)
    assert found.best is None
    assert five_lines(found)[3].startswith("No change is not rejected (p = ")
    assert len(confronted_counts(tmp_path, *sides, laws=True).laws) == 10


def test_one_answer_a_prompt_names_no_law_and_no_unchanged_model(tmp_path):
    rng = np.random.default_rng(0)
    n, one = np.ones(200, int), rng.random((2, 200)) < [[0.4], [0.8]]
    lines = five_lines(confronted_counts(tmp_path, *(rows_of(n, side.astype(int)) for side in one)))
    assert "by chance" not in lines[2]
    assert lines[3] == "One answer a prompt tells only means: no law of training is identified."


def test_a_file_against_itself_claims_nothing(tmp_path):
    rng = np.random.default_rng(0)
    rows = rows_of(np.full(60, 8), rng.binomial(8, base_rates(rng, 60)))
    found = confronted_counts(tmp_path, rows, rows)
    words = " ".join([*five_lines(found), *found.notes, *(table.markdown() for table in tables(found))])
    assert "both have the same counts of every prompt, and are copies of one file" in words
    assert "as few as" not in words
    assert "[0, 0]" not in words
    assert "[0.00, 0.00]" not in words
    assert five_lines(found)[3] == "No law of training is identified: every prompt says the same."


def test_intervals_say_whether_they_hold_at_one_k_or_at_all():
    made = {table.title: table for table in tables(small_confrontation())}
    parts = made["What the change of Pass@k is made of"].head
    assert all(name.endswith("(this k alone)") for name in parts[1:])
