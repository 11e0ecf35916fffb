from dataclasses import replace

import pytest
from support.law_record import law_record, run

from dph_theory.losses import METHODS
from figures import records
from figures.gallery import budget_and_family, direction, lottery, way_back
from figures.gallery.theory_against_training import VERDICTS
from figures.records import Records
from figures.report import guide
from toy_lm.collapse.results import FAMILIES
from toy_lm.strategies.results import directions
from toy_lm.styles.results import scores


@pytest.fixture(scope="module")
def stored():
    return guide.stored_records()


def cells(text, start):
    """The cells of the table row that starts so."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def on_d_pef(stored):
    config, results = stored.strategies
    return [row for row in directions(config, results.sweep) if row.place == "D_pef"]


def test_a_folder_without_records_gives_none(tmp_path):
    assert guide.stored_records(tmp_path).stored == {}


def test_another_kind_of_record_is_refused(tmp_path, stored):
    records.save("toy_collapse", stored.of("strategies"), tmp_path)
    with pytest.raises(ValueError, match=r"record\.kind"):
        guide.stored_records(tmp_path)


def test_the_tables_have_the_numbers_of_the_records(stored):
    page = guide.guide(stored)
    for row in on_d_pef(stored):
        shown = [f"{value:.3f}" for value in row.pass_at_k.values()]
        assert cells(page.split("## In a transformer")[0], f"{row.strength:g}") == [*shown, f"{row.gap:+.3f}"]
    for name, found in scores(stored.styles, "train").items():
        many = found.pass_at_16
        assert cells(page, name)[1:3] == [f"{many.mean:.3f}", f"{many.low:.3f} to {many.high:.3f}"]


def test_the_summary_has_the_numbers_of_the_records(stored):
    page, (_, results) = guide.in_short(stored), stored.strategies
    grpo = results.method("GRPO")
    row = cells(page, "`dph toy strategies`")
    assert row[1] == f"{results.base.pass_at_1:.3f} / {results.base.pass_at_k:.3f}"
    assert row[2] == f"{grpo.pass_at_1:.3f} / {grpo.pass_at_k:.3f}"
    fits = stored.collapse.reference
    forward = fits.forward_kl("homogeneous")
    assert cells(page, "`dph toy collapse`")[-1] == f"{forward.coverage:.3f} / {forward.validity:.3f}"


def test_no_kl_and_reverse_kl_are_the_methods_that_have_none_and_that_descend_it(stored):
    train = scores(stored.styles, "train")
    shown = {name: f"{train[name].pass_at_1.mean:.3f} / {train[name].pass_at_16.mean:.3f}" for name in train}
    cell = cells(guide.in_short(stored), "`dph toy styles`")
    assert cell[1:] == [shown[name] for name in ("base", "DAPO", "reverse 0.3", "DPH-F 0.3")]
    # GRPO has a k3, and RKL's k3 in the loss descends the forward KL.
    assert METHODS["DAPO"].penalty is None is not METHODS["GRPO"].penalty
    assert METHODS["RKL"].penalty.estimator == "k3"
    page = guide.guide(stored)
    assert "Without a KL term (*DAPO*)" in page
    assert f"has the k3 of TRL in the loss at {METHODS['GRPO'].penalty.coefficient:g}" in page
    assert (
        "RKL*, as the paper's baseline, is a k3 in the loss on all prompts, which\ndescends the forward KL"
        in page
    )


def test_the_agreement_is_told_with_its_bias(stored):
    settings = lottery.compute(lottery.FIGURE.config, stored).settings
    above = sum(setting.measured > setting.predicted for setting in settings)
    assert f"in {above} of the {len(settings)} the measured deviation is the larger one" in guide.in_short(
        stored
    )
    assert 2 * above > len(settings), "the caption of the figure says mostly"


def test_the_strengths_that_are_named_follow_the_numbers(stored, monkeypatch):
    rows = [
        replace(
            row,
            pass_at_k=row.pass_at_k
            | {"forward KL": row.pass_at_k["reverse KL"] + 0.2 * (row.strength == 0.1)},
        )
        for row in on_d_pef(stored)
    ]
    monkeypatch.setattr(guide, "directions", lambda config, sweep: rows)
    page = guide.guide(stored)
    assert "all within 0.01 above strength 0.1 " in page
    assert "at strength 0.1: forward" in page


def test_the_demo_is_summed_up_once_it_is_there(stored):
    made = stored.of("demo")["results"]
    gaps = [{"expected": sign, "found": found} for sign, found in ((1, 1), (-1, 0), (0, 1))]
    lines = [line | {"verdict": verdict} for line in made["predictions"][:2] for verdict in VERDICTS]
    found = stored.of("demo") | {"results": made | {"differences": gaps, "predictions": lines}}
    text = guide.in_short(Records({**stored.stored, "demo": found}))
    assert "1 of the 2 differences" in text
    assert "2 of 6 predictions held; missed: rehearsed mass (B3)." in text
    toys = Records({name: record for name, record in stored.stored.items() if name != "demo"})
    assert "dph demo" not in guide.in_short(toys)


def test_what_is_said_of_shared_strategies_holds_for_the_stored_numbers(stored):
    _, results = stored.strategies
    base = results.base
    assert results.method("GRPO").pass_at_1 > base.pass_at_1
    assert results.method("GRPO").pass_at_k < base.pass_at_k
    for method in map(results.method, ("DPH-F", "reverse KL on D_pef")):
        assert method.pass_at_1 > base.pass_at_1
        assert method.pass_at_k > base.pass_at_k
    assert max(on_d_pef(stored), key=lambda row: abs(row.gap)).gap > 0


def test_what_is_said_of_the_transformer_holds_for_the_stored_numbers(stored):
    tiny = stored.styles
    methods = scores(tiny, "train")
    for name in ("GRPO", "DAPO"):
        assert methods[name].pass_at_16.mean < methods["base"].pass_at_16.low
    alike = [found.pass_at_16 for name, found in methods.items() if name.endswith(" 0.3")]
    assert len(alike) == 5
    assert max(found.low for found in alike) < min(found.high for found in alike)
    base, *held_out = (found.pass_at_16.mean for found in scores(tiny, "held_out").values())
    assert max(held_out) < base


def test_what_is_said_of_models_too_small_holds_for_the_stored_numbers(stored):
    results = stored.collapse
    reverse, forward = results.reference.optima(FAMILIES[0])[-1], results.reference.forward_kl(FAMILIES[0])
    assert reverse.collapsed
    assert forward.coverage > reverse.coverage
    for problem in results.random:
        for family in FAMILIES:
            rates = [rate for rate in problem.rates if rate.family == family]
            minima = [r for r in rates if (r.objective, r.method) == ("reverse_kl", "global")]
            strongest = max(minima, key=lambda rate: rate.mu)
            (fit,) = (rate for rate in rates if rate.objective == "forward_kl")
            assert fit.effective_kept > strongest.effective_kept
            assert fit.validity < strongest.validity


def test_the_laws_are_told_with_the_runs_that_missed(stored):
    rows = [run("k3"), run("k3", 1.0, verdict="missed: law"), run("none", experiment="degeneracy")]
    text = guide.in_short(Records({**stored.stored, "laws": law_record(rows)}))
    assert (
        "| k3 in the loss | token forward KL | 0.900 / 0.910 | 0.600 / 0.620 | token forward KL | 1 of 2 |"
        in text
    )
    assert "1 of 2 runs *held*" in text


def test_what_is_said_of_the_small_llama_holds_for_the_stored_numbers(stored):
    rows = direction.compute(direction.FIGURE.config, stored).rows
    weak = {row.method: row for row in rows if row.strength == 0.05}
    for kept in ("DPH-F", "RKL"):
        assert {"reverse KL", "DPH-JS", "DPH-alpha"} <= set(weak[kept].above)
    assert all(row.seeds >= 5 for row in rows)


def test_small_betas_are_told_with_the_steps_they_had():
    short, long = run("k3", 0.1, verdict="missed: answers"), run("k3", 0.2, experiment="long_enough")
    text = " ".join(
        guide.in_short(
            Records({**guide.stored_records().stored, "laws": law_record([short, long, run("k3")])})
        ).split()
    )
    assert "at beta <= 0.2, 1 of 2 held after as many steps as at beta = 1." in text
    assert "With steps in proportion to 1/beta, 1 of 1 held, among them 1 of the 1 of plain k3" in text


def test_what_is_said_of_long_runs_holds_for_the_stored_numbers(stored):
    runs = stored.laws.of("long_enough")
    assert all(run.held for run in runs if run.task == "selection-2")
    longer = [run for run in runs if run.task != "selection-2"]
    assert sorted(run.held for run in longer if run.form == "k3") == [False, *[True] * 5]
    assert not any(run.held for run in longer if run.form != "k3")


def test_what_was_lost_and_how_long_to_train_are_told_with_their_numbers(stored):
    page = guide.guide(stored)
    rows = way_back.table(way_back.compute(way_back.FIGURE.config, stored)).rows
    assert {row[1] for row in rows} == {"a fit", "training"}
    (rarest, *_) = sorted(rows, key=lambda row: row[0])
    assert cells(page.split("## What was lost")[1], f"{rarest[0]:g}") == [rarest[1], *rarest[4:]]
    ends = budget_and_family.compute(budget_and_family.FIGURE.config, stored).ends
    whole = [end for end in ends if (end.beta, end.rank, end.steps) == (0.1, None, 600)]
    for end in whole:
        assert end.objective == "rehearsal" or f"{end.kl:.3g} nats" in page.replace("\n", " ")


def test_without_such_runs_the_page_says_nothing_of_them(stored):
    bare = Records({**stored.stored, "laws": law_record([run("k3", task="selection-2", beta=0.2)])})
    assert "What was lost" not in guide.guide(bare)
