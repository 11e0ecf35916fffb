"""A reproduction: its stages, and the page of what they left."""

import re
from base64 import b64decode
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from markupsafe import escape

from dph_theory.support.record import record
from dph_theory.theorems import THEOREMS
from figures import reproduce as module
from figures.catalogue import NAMES
from figures.frames import Records
from figures.report import DrawnFigure, StageEnd, drawn_figures, page
from figures.reproduce import Plan, Stage, attempt, reproduce, stages


def leave(name, plan, progress):
    """A stage that leaves a file; it fails as long as a file of its name says so."""
    if (plan.folder / f"fail {name}").is_file():
        raise RuntimeError("no luck")
    (plan.results / f"{name}.json").write_text("{}")
    progress(1, 1)
    return f"left {name}"


def stage(name, **options):
    return Stage(name, partial(leave, name), (f"{name}.json",), **options)


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_page", lambda plan, found: f"page of {len(found)}")
    return Plan(folder=tmp_path)


def states(outcomes):
    return {outcome.stage: outcome.state for outcome in outcomes}


def test_every_stage_is_there_and_follows_what_it_needs():
    found = [stage.name for stage in stages()]
    toys = [f"toy.{name}" for name in ("collapse", "strategies", "styles")]
    assert sorted(found) == sorted(["verify", "audit", "laws", *toys, *(f"figure.{name}" for name in NAMES)])
    for one in stages():
        assert all(found.index(name) < found.index(one.name) for name in one.needs)
    needs = {one.name: one.needs for one in stages()}
    assert needs["figure.what_your_kl_does"] == ("audit",)
    assert {one.name for one in stages() if one.alone} == {"verify", "laws", "toy.styles"}


def test_stages_run_alone_and_side_by_side_each_is_told_and_a_run_that_is_done_begins_anew(plan):
    seen = []
    options = {"progress": lambda *moved: seen.append(moved)}
    options |= {"ended": lambda outcome: seen.append((outcome.stage, outcome.state, outcome.words))}
    for _ in range(2):
        seen.clear()
        outcomes = reproduce(plan, [stage("a", alone=True), stage("b"), stage("c")], **options)
        assert seen[:3] == [("a", 0, 1), ("a", 1, 1), ("a", "done", "left a")]
        assert states(outcomes) == {"a": "done", "b": "done", "c": "done"}
    assert (plan.folder / "index.html").read_text() == "page of 3"


def test_a_failure_is_named_the_others_go_on_and_are_reused(plan):
    (plan.folder / "fail b").touch()
    needs = {"b": (), "c": ("b",)}
    todo = [stage(name, alone=True, needs=needs.get(name, ())) for name in "abcd"]
    first = reproduce(plan, todo)
    assert states(first) == {"a": "done", "b": "failed", "c": "failed", "d": "done"}
    assert first[1].words == "RuntimeError: no luck"
    assert "in leave" in first[1].trace
    assert first[2].words == "it needs b, which failed"
    (plan.folder / "fail b").unlink()
    outcomes = reproduce(plan, todo)
    assert states(outcomes) == {"a": "reused", "b": "done", "c": "done", "d": "reused"}
    assert (outcomes[0].seconds, outcomes[0].words) == (first[0].seconds, "left a")


def test_an_interruption_keeps_what_is_finished(plan):
    def interrupted(plan, progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(plan, [stage("a", alone=True), Stage("b", interrupted, (), alone=True)])
    assert states(reproduce(plan, [stage("a", alone=True), stage("b", alone=True)]))["a"] == "reused"


def test_nothing_is_reused_under_other_conditions_or_from_scratch(plan):
    (plan.folder / "fail b").touch()
    asked = [(plan, False)]
    asked += [
        (Plan(1, quick, plan.folder), fresh)
        for quick, fresh in [(False, False), (True, False), (True, False), (True, True)]
    ]
    todo = [stage("a", alone=True), stage("b", alone=True)]
    found = [states(reproduce(of, todo, fresh=fresh))["a"] for of, fresh in asked]
    assert found == ["done", "done", "done", "reused", "done"]


def test_a_surprise_is_a_failure_that_leaves_its_result_and_what_an_earlier_run_left_is_none(plan):
    def surprised(plan, progress):
        (plan.results / "a.json").write_text("{}")
        raise module.UnexpectedError("one too many")

    plan.results.mkdir()
    for name in "bc":
        (plan.results / f"{name}.json").write_text("{}")
    (plan.folder / "fail b").touch()
    found = attempt(Stage("a", surprised, ("a.json",)), plan)
    assert (found.state, found.words, found.trace) == ("failed", "one too many", "")
    assert attempt(stage("b"), plan).failed
    assert sorted(path.name for path in plan.results.iterdir()) == ["a.json", "c.json"]


class Unloadable:
    """No worker can load it: in a process of its own, that one dies."""

    def __call__(self, plan, progress):
        return "never"

    def __reduce__(self):
        return (int, ("none",))


def test_a_job_that_its_worker_does_not_survive_fails_its_stage(plan):
    (outcome,) = reproduce(plan, [Stage("a", Unloadable(), ())])
    assert outcome.failed
    assert "invalid literal" in outcome.words


@pytest.mark.parametrize("quick", [False, True])
def test_an_experiment_is_stored_by_its_size_and_resumed_where_it_can_be(tmp_path, monkeypatch, quick):
    """In place of every package of toy_lm, one that tells its size and the options it was given."""
    asked = {}

    def sized(size="full"):
        return size

    def imported(name):
        def made(size, *, seed, progress, **options):
            asked[name] = options
            results = {"size": size, "third": 1 / 3}
            return record(f"toy.{name}", seed=seed, config={}, results=results, findings=[])

        return SimpleNamespace(configuration=sized, run=made, is_resumable=name == "styles")

    sized.quick = lambda: "quick"
    monkeypatch.setattr(module, "ToyExperiment", imported)
    plan = Plan(5, quick, tmp_path)
    plan.results.mkdir()
    for name in ("collapse", "styles"):
        module.experiment(name, plan, lambda done, total: None)
    assert asked["collapse"] == {}
    assert asked["styles"]["folder"].parent == plan.results / "styles_runs"
    found = Records(plan.results, quick).record("collapse")
    assert (found["kind"], found["seed"]) == ("toy.collapse", 5)
    assert found["results"] == {"size": "quick" if quick else "full", "third": 0.3333333333}


@pytest.mark.parametrize(("true", "state"), [(True, "done"), (False, "failed")])
def test_a_title_that_the_numbers_do_not_bear_out_fails_its_stage(tmp_path, monkeypatch, true, state):
    plan = Plan(folder=tmp_path)
    plan.results.mkdir()
    one = replace(module.figure("mu_beta"), claim=lambda numbers: true, draw=lambda sheet, numbers: None)
    monkeypatch.setattr(module, "figure", lambda name: one)
    assert attempt(Stage("figure", partial(module.drawing, "mu_beta"), ()), plan).state == state


def test_the_page_says_what_was_checked_found_drawn_and_what_failed_and_asks_nobody():
    names = list(THEOREMS)[:3]
    reports = [{"theorem": name, "verdict": "PROVED", "unexpected": []} for name in names]
    reports[2] = reports[2] | {"unexpected": ["<odd>"]}
    drawn = [
        DrawnFigure(module.figure("stationary_policies"), "A title & more"),
        drawn_figures(Records(), {"mu_beta": (b"<svg>wide</svg>", b"<svg>narrow</svg>")})[
            NAMES.index("mu_beta")
        ],
    ]
    outcomes = [
        StageEnd("verify", "done", 1.25, "all <well>"),
        StageEnd("toy.styles", "failed", 2.0, "no luck", "Traceback"),
    ]
    verdicts = {"results": {"reports": reports}}
    whole = page(verdicts, drawn, {"styles": ["It fell."]}, outcomes, {"seed": 4})
    words = ("2 of 3 statements are as expected:\n3 PROVED", "It fell.", "seed: 4")
    failed = ('<div class="failed" role="alert">', "It could not be drawn.", "<pre>Traceback</pre>")
    escaped = ("all &lt;well&gt;", "A title &amp; more")
    assert [word for word in (*words, *failed, *escaped) if word not in whole] == []
    (narrow,), (wide,) = (
        re.findall(rf'{name}="data:image/svg\+xml;base64,([^"]*)"', whole) for name in ("srcset", "src")
    )
    assert [b64decode(part) for part in (narrow, wide)] == [b"<svg>narrow</svg>", b"<svg>wide</svg>"]
    # Links lead somewhere, and nothing is loaded from elsewhere.
    ids, links = (re.findall(found, whole) for found in (r'<[^>]* id="([^"]+)"', r'<a [^>]*href="([^"]+)"'))
    assert len(ids) == len(set(ids))
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", whole)


def test_without_verdicts_and_drawings_it_has_every_figure_in_order_and_no_count():
    found = drawn_figures(Records(), {})
    assert [one.figure.name for one in found] == list(NAMES)
    assert {one.wide for one in found} == {None}
    assert "statements are as" not in page(None, found, {}, [], {})


def test_the_page_begins_with_ten_findings_that_lead_to_their_figures():
    first = page(None, drawn_figures(Records(), {}), {}, [], {}).partition("<main>")[0]
    for name in NAMES[:10]:
        assert f'<li><a href="#figure-{name}">{escape(module.figure(name).title)}</a></li>' in first
    assert first.count("<li>") == 10


def test_the_page_fits_a_telephone():
    """Nothing has a fixed least width, and names break nowhere."""
    style = page(None, [], {}, [], {}).partition("<style>")[2].partition("</style>")[0]
    assert "min-width" not in style
    assert re.search(r"code \{[^}]*white-space: nowrap", style)


def test_a_finding_that_a_reduced_run_contradicts_is_marked():
    one = replace(module.figure("mu_beta"), claim=lambda numbers: False)
    assert one.finding(None) == f"Not so in these numbers: {one.title}"


def test_formulas_of_statements_are_set():
    pytest.importorskip("latex2mathml")
    reports = [{"theorem": name, "verdict": "PROVED", "unexpected": []} for name in THEOREMS]
    whole = page({"results": {"reports": reports}}, [], {}, [], {})
    assert whole.count("<math ") == len(THEOREMS)
    assert "\\frac" not in whole
