import platform
from types import SimpleNamespace

import pytest
from support.small_report import verdict

from dph_theory.audit import catalogue
from dph_theory.theorems import THEOREMS
from dph_theory.verification import run as verification
from dph_theory.verification.reports import QUICK_INSTANCES
from figures import files, records
from figures.report import results
from figures.report.results import Plan, UnexpectedError, digest, environment


def test_it_tells_the_machine_and_the_versions():
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["numpy"][0].isdigit()


def test_a_digest_changes_with_all_that_matters(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "_ROOT", tmp_path)
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "a.py").write_text("x = 1\n")
    first = digest(("one",), 0, False)
    assert digest(("one",), 0, False) == first
    others = {digest(("one",), 1, False), digest(("one",), 0, True), digest(("one", "two"), 0, False)}
    (tmp_path / "one" / "a.py").write_text("x = 2\n")
    others.add(digest(("one",), 0, False))
    assert len(others | {first}) == 5
    (tmp_path / "one" / "a.py").write_text("x = 1\n")
    (tmp_path / "two" / "a.py").write_text("x = 2\n")
    assert digest(("one",), 0, False) == first


def nothing(done, total):
    pass


@pytest.fixture
def verified(monkeypatch):
    """Verification that finds these reports at once."""

    def fake(expected):
        report = SimpleNamespace(
            theorem="C2.old", as_expected=expected, false_neighbours=[1], as_json=lambda: verdict("C2.old")
        )

        def verify(theorems, settings, *, on_report):
            on_report(report)
            return [report]

        monkeypatch.setattr(verification, "verify", verify)

    return fake


def test_verdicts_are_stored_whether_expected_or_not(tmp_path, verified):
    plan, seen = Plan(seed=3, quick=True, folder=tmp_path), []
    verified(True)
    words = results.verdicts(plan, lambda done, total: seen.append((done, total)))
    assert words == "1 theorems and 1 false neighbours, 0 not as expected"
    assert seen == [(1, len(THEOREMS))]
    verified(False)
    (plan.results / "verdicts.json").unlink()
    with pytest.raises(UnexpectedError, match=r"1 not as expected: C2\.old"):
        results.verdicts(plan, nothing)
    stored = records.load("verdicts", "report.verdicts", plan.results)
    assert stored["seed"] == 3
    assert stored["config"]["instances"] == QUICK_INSTANCES
    assert stored["results"]["reports"][0]["theorem"] == "C2.old"


def test_the_audit_is_stored_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(
        catalogue,
        "audit_catalogue",
        lambda *, seed, on_report: [catalogue.audit_form(0, seed), catalogue.audit_form(2, seed)],
    )
    assert results.audit(Plan(folder=tmp_path), nothing) == "2 forms audited, 0 could not be evaluated"
    k1, k3 = records.load("audit", "report.audit", tmp_path / "results")["results"]["forms"]
    assert (k1["form"], k1["gradient"], k1["failed"]) == ("k1", "zero", False)
    assert k3["gradient"].startswith("forward KL(ref||pi)")


def test_an_experiment_keeps_its_own_runs_until_it_is_done(tmp_path, monkeypatch):
    plan, found = Plan(seed=2, folder=tmp_path), {}

    def run(name, **options):
        found.update(options)
        options["resume"].mkdir(parents=True)
        options["progress"]("stage", 1, 2)
        return {"findings": ["one"]}

    monkeypatch.setattr(files, "run_experiment", run)
    seen = []
    words = results.experiment("styles", plan, lambda done, total: seen.append((done, total)))
    assert words == "1 finding"
    assert seen == [(1, 2)]
    assert (found["seed"], found["quick"], found["folder"]) == (2, False, plan.results)
    assert found["resume"].parent == plan.results / "styles_runs"
    assert not found["resume"].parent.exists()
    assert Plan(seed=3, folder=tmp_path).digest(("toy_lm",)) != plan.digest(("toy_lm",))


def test_a_drawing_leaves_numbers_and_svg(tmp_path):
    plan = Plan(seed=1, quick=True, folder=tmp_path)
    assert results.drawing("mu_beta", plan, nothing) == "1 row"
    assert records.load("mu_beta", "figure.mu_beta", plan.results)["seed"] == 1
    assert (plan.results / "mu_beta.svg").read_bytes().startswith(b"<?xml")


def test_the_laws_are_left_out_where_no_trainer_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "find_spec", lambda name: None if name == "trl" else name)
    assert results.laws(Plan(folder=tmp_path), lambda done, total: None) == (
        "left out: trl not installed (extra full)"
    )


def test_a_failed_run_of_the_laws_says_what_the_command_said(tmp_path, monkeypatch):
    ended = SimpleNamespace(returncode=2, stderr="error: no luck", stdout="")
    monkeypatch.setattr(results, "find_spec", lambda name: name)
    monkeypatch.setattr(results.subprocess, "run", lambda *args, **options: ended)
    with pytest.raises(results.UnexpectedError, match="ended with 2: error: no luck"):
        results.laws(Plan(folder=tmp_path), lambda done, total: None)
