from support.small_report import supposed, verdicts

from figures import files, records
from figures.catalogue import NAMES, figure
from figures.report import contents as module
from figures.report.contents import Contents, StageEnd
from figures.report.results import Plan


def test_it_holds_what_there_is_and_nothing_else(tmp_path):
    plan = Plan(folder=tmp_path)
    assert Contents.load(plan, []).reports == {}
    records.save("verdicts", verdicts(supposed("A8.frontier")), plan.results)
    made = figure("mu_beta").numbers(quick=True)
    records.save("mu_beta", made, plan.results)
    files.save_drawing("mu_beta", figure("mu_beta").drawing(made), ("svg",), plan.results)
    found = Contents.load(plan, [StageEnd("styles", "failed", 1.0, "no")])
    assert list(found.reports) == ["A8.frontier"]
    assert found.audit is None
    assert list(found.records) == ["verdicts"]
    assert found.plan.file("styles") == "toy_styles"
    assert found.plan.file("audit") == "audit"
    assert [drawn.name for drawn in found.figures] == list(NAMES)
    assert {drawn.name for drawn in found.figures if drawn.svg} == {"mu_beta"}
    assert [outcome.stage for outcome in found.failures] == ["styles"]
    assert found.words("styles") == "no"
    assert found.words("audit") == "it was not run"
    assert "UTC" in found.environment["made"]


def test_a_figure_that_cannot_be_imported_is_a_missing_figure(tmp_path, monkeypatch):
    def broken(name):
        raise ImportError(name)

    monkeypatch.setattr(module, "figure", broken)
    found = Contents.load(Plan(folder=tmp_path), [])
    assert {drawn.figure for drawn in found.figures} == {None}
