"""The forecast of a run from its first checkpoints, on runs whose later rates are known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit, logit
from support.linear_answers import linear_answers
from support.sampled_counts import rows_of, write_rows

from dph_theory.checkpoints import matched, pilot_forecast, read_counts
from dph_theory.checkpoints.cli import confront_command
from dph_theory.checkpoints.clock import Walk, later_clock
from dph_theory.checkpoints.kernel_course import KernelCourse, described_share, measured_changes
from dph_theory.coverage import exact_pass_at_k
from dph_theory.transfer import LinearisedMethod, coupled_flow

PROMPTS, TRAINED = 60, range(30)
STD = LinearisedMethod(group_size=8)


@pytest.fixture
def file(tmp_path):
    """Writes drawn counts of log odds (prompts,) under a name, and reads them."""
    rng = np.random.default_rng(0)

    def written(name, log_odds, answers=64):
        counts = rng.binomial(answers, expit(log_odds))
        rows = rows_of(np.full(len(counts), answers), counts)
        return read_counts(
            write_rows(tmp_path / f"{name}.jsonl", [row | {"id": i} for i, row in enumerate(rows)])
        )

    return written


def starts(rng=1):
    rng = np.random.default_rng(rng)
    return rng.normal(-1, 1.5, PROMPTS), rng.normal(1.0, 1.0, PROMPTS)


def at(log_odds, k):
    return float(exact_pass_at_k(expit(log_odds), k).mean())


@pytest.mark.parametrize("scale", ["std", "mean", "none"])
def test_along_one_direction_the_clock_gives_the_later_rates(scale):
    a, rates = np.array([0.5, 0.9, -0.4]), np.array([0.1, 0.3, 0.6])
    flow = coupled_flow(np.outer(a, a), rates, [0, 1], [2.0, 8.0], scale=scale, group_size=8)
    start, now, later = map(logit, (rates, *flow))
    method = LinearisedMethod(scale, 8)
    change = now - start
    clock = later_clock(start[:2], change[:2], change[:2], 4.0, method)
    assert start + clock * change == pytest.approx(later, abs=1e-5)
    assert 1 < clock < 5


def test_where_trained_prompts_are_solved_for_good_or_never_the_clock_stands_still():
    solved, change = np.full(2, 60.0), np.ones(2)
    assert later_clock(solved, change, np.ones(2), 10.0, STD) == pytest.approx(1, abs=1e-3)
    assert later_clock(np.full(2, -np.inf), change, np.ones(2), 10.0, STD) == 1


def test_a_walk_spreads_all_changes_by_the_clock_and_a_line_has_no_spread():
    assert Walk(3.0, 1.0, 2.0).spread == 0
    assert Walk(3.0, 1.0, 2.0).reach == 3
    walk = Walk(3.0, 0.25, 2.0)
    assert (walk.reach * 2.0) ** 2 + walk.spread**2 == pytest.approx(6.0**2)
    now = np.array([-1.0, 0.5])
    mean, square = walk.pass_at_k(now, np.array([1.0, 2.0]), [4], [0.0])[0, 0]
    assert (square > mean**2).all()


def test_the_interval_holds_the_end_of_a_run_and_says_what_it_is_of(file):
    start, change = starts()
    clock = later_clock(start[TRAINED], change[TRAINED], np.ones(30) / 30, 2.0, STD)
    end = start + (1 + 0.5 * (clock - 1)) * change
    forecast = pilot_forecast(file("base", start), {50: file("step50", start + change)}, 100, TRAINED)
    assert forecast.clock == pytest.approx(clock, rel=0.1)
    assert [part.kind for part in forecast.forecasts] == ["not trained", "trained"]
    for part, which in zip(forecast.forecasts, (slice(30, None), slice(30)), strict=True):
        assert part.deviation == pytest.approx(1.0, abs=0.35)
        for k, now, later in zip(forecast.k, part.now, part.later, strict=True):
            assert now == pytest.approx(at((start + change)[which], k), abs=0.06)
            assert later.low < at(end[which], k) < later.high
        assert min(part.seeds) > 0
        widths = np.hypot(np.hypot(part.answers, part.other_prompts), part.seeds)
        assert (widths[0] + 0.02) * 2 == pytest.approx(part.later[0].high - part.later[0].low, rel=0.35)
    few = pilot_forecast(
        file("base4", start, 4), {50: file("s50", start + change, 4)}, 100, TRAINED, draws=100
    )
    assert few.forecasts[0].answers[0] > forecast.forecasts[0].answers[0]


@pytest.mark.parametrize(("persistent", "low", "high"), [(True, 0.6, 1.0), (False, 0.0, 0.45)])
def test_several_checkpoints_show_whether_changes_go_on(file, persistent, low, high):
    start, change = starts()
    clock = later_clock(start, change, np.ones(PROMPTS) / PROMPTS, 2.0, STD)
    later = start + clock * change
    if not persistent:
        fresh = np.random.default_rng(5).normal(0, np.sqrt(clock**2 - 1) * 0.87, PROMPTS)
        later = start + change + fresh
    files = {50: file("step50", start + change), 100: file("step100", later)}
    forecast = pilot_forecast(file("base", start), files, 200, ks=(1, 64, 256))
    assert low <= forecast.forecasts[0].persistence <= high
    earlier = forecast.earlier
    assert (earlier.step, earlier.until) == (50, 100)
    assert earlier.forecasts[0].later[0].low < at(later, 1) < earlier.forecasts[0].later[0].high
    assert "Checked on step 100 from step 50" in forecast.summary()
    assert any("above 64" in note for note in forecast.notes)
    assert forecast.forecasts[0].now[2] == pytest.approx(at(later, 256), abs=0.08)


def test_a_kl_slows_the_clock(file):
    from dph_theory.divergences import REVERSE_KL

    start, change = starts()
    files = file("base", start), {50: file("step50", start + change)}, 400
    with_kl = LinearisedMethod("std", 8, 1.0, REVERSE_KL)
    assert pilot_forecast(*files, method=with_kl, draws=20).clock < pilot_forecast(*files, draws=20).clock


def test_what_cannot_be_forecast_is_named(file):
    start, change = starts()
    base, now = file("base", start), file("step50", start + change)
    for arguments, words in (
        (({}, 100), "until=100"),
        (({50: now}, 40), "from the last checkpoint's step on"),
        (({50: now}, 100, ["no such prompt"]), "ids of prompts, such as '0'"),
        (({50: now}, 100, [0]), "two or more that are trained"),
    ):
        with pytest.raises(ValueError, match=words):
            pilot_forecast(base, *arguments)
    assert any(
        "5 trained prompts have no" in note
        for note in pilot_forecast(base, {50: now}, 60, range(20, 65)).notes
    )


def test_the_command_reads_steps_from_names_and_stores_the_forecast(file, tmp_path):
    start, change = starts()
    for name, moved in (("base", 0.0), ("step50", 0.5), ("b100", 1.0)):
        file(name, start + moved * change, 16)
    ids, stored = tmp_path / "trained", tmp_path / "forecast.json"
    ids.write_text("\n".join(map(str, TRAINED)))
    paths = [str(tmp_path / f"{name}.jsonl") for name in ("base", "step50", "b100")]
    words = ["--until", "400", "--trained", str(ids), "--divided-by", "mean", "--draws", "50"]
    result = CliRunner().invoke(confront_command, [*paths, *words, "--json", str(stored)])
    assert result.exit_code == 0, result.output
    assert "Step 400 from step 100, 30 prompts (not trained)" in result.output
    record = json.loads(stored.read_text())
    assert record["results"]["forecast"]["earlier"]["step"] == 50
    assert (record["config"]["until"], record["config"]["divided_by"]) == (400, "mean")
    given = CliRunner().invoke(confront_command, [*paths, "--until", "400", "--at", "3,9", "--draws", "50"])
    assert "Step 400 from step 9" in given.output
    for wrong, said in (("--at 3", "a step of its own for each of the 2 files"), ("--at x", "whole numbers")):
        assert said in " ".join(
            CliRunner().invoke(confront_command, [*paths, "--until", "9", *wrong.split()]).output.split()
        )
    (tmp_path / "run.jsonl").write_text((tmp_path / "b100.jsonl").read_text())
    nameless = CliRunner().invoke(confront_command, [paths[0], str(tmp_path / "run.jsonl"), "--until", "9"])
    assert "whose name has none" in " ".join(nameless.output.split())


def courses(scale=1.0):
    """Log odds of a run of 200 steps with one direction, and the kernel's course, times a scale."""
    start, change = starts()
    along = start + np.linspace(0, 4, 201)[:, None] * change
    places = {str(i): i for i in range(PROMPTS)}
    course = KernelCourse(places, start + scale * (along - start), tuple(map(str, TRAINED)))
    return start, change, along, course


def test_a_kernel_that_described_the_first_steps_is_followed_and_one_that_did_not_is_left(file):
    start, _, along, course = courses()
    files = file("base", start), {50: file("step50", along[50])}, 200
    told = pilot_forecast(*files, kernel=course, draws=50)
    assert told.kernel.weight > 0.9
    assert [part.kind for part in told.forecasts] == ["not trained", "trained"]
    ends, plain = at(along[200][30:], 1), pilot_forecast(*files, TRAINED, draws=50)
    assert told.forecasts[0].later[0].value == pytest.approx(ends, abs=0.04)
    assert abs(plain.forecasts[0].later[0].value - ends) > 0.04
    wrong = pilot_forecast(*files, kernel=courses(scale=-1.0)[3], draws=50)
    assert wrong.kernel.weight == 0
    assert wrong.forecasts[0].later == plain.forecasts[0].later
    assert "(trained): the kernel of the base does not hold here." in wrong.summary()


def test_the_share_that_a_kernel_describes_has_no_noise_of_the_counts(file):
    start, change, _, _ = courses()
    shares = []
    for by_kernel in (change, 0.5 * change, 0 * change, -change):
        pairs = matched(file("base", start), file("step50", start + change)).counts
        shares.append(described_share(measured_changes(pairs), by_kernel)[2])
    assert shares == pytest.approx([1.0, 0.75, 0.0, 0.0], abs=0.1)


def test_the_command_joins_the_kernel_by_the_prompts_ids(file, tmp_path):
    kernel, *_ = linear_answers(prompts=8, trained=4)
    kernel = replace(kernel, names=tuple(map(str, range(8))), about={"adam": 1.0})
    kernel.save(tmp_path / "kernel.npz")
    course = KernelCourse.from_kernel(kernel, STD, 40, 0.02)
    for name, log_odds in (("base", course.log_odds[0]), ("step10", course.log_odds[10])):
        file(name, log_odds, 256)
    paths = [str(tmp_path / f"{name}.jsonl") for name in ("base", "step10")]
    words = [*paths, "--until", "40", "--draws", "20", "--transfer", str(tmp_path / "kernel.npz")]
    done = CliRunner().invoke(confront_command, [*words, "--learning-rate", "0.02"])
    assert done.exit_code == 0, done.output
    assert "Step 40 from step 10, 4 prompts (not trained)" in done.output
    assert "The first 10 steps moved log odds by " in done.output
    assert "as the kernel has it, which weighs so much" in done.output
    assert "--transfer needs the learning rate" in " ".join(
        CliRunner().invoke(confront_command, words).output.split()
    )
    ids = tmp_path / "trained"
    ids.write_text("0\n1\n2\n3")
    replace(kernel, names=tuple("abcdefgh")).save(tmp_path / "kernel.npz")
    other = CliRunner().invoke(confront_command, [*words, "--learning-rate", "0.02", "--trained", str(ids)])
    assert "prompts of the counts, such as '0'" in " ".join(other.output.split())
