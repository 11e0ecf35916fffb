"""What is published, audited: each form descends what its table derives, by hand or from its parts."""

import pytest
from click.testing import CliRunner
from support.published_audits import IN_ONE_PROCESS, reports

from dph_theory.audit import catalogue
from dph_theory.audit.catalogue import audit_catalogue, form_of
from dph_theory.audit.cli import catalogue_command
from dph_theory.audit.published import CATALOGUE
from dph_theory.losses.kl_terms import KL_TERMS
from dph_theory.references import REFERENCES

REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"
PUBLIC_CODE_OR_REPORTS = ("DeepSeek-V3.2, arXiv:", "verl, ", "TRL, ")


def test_every_form_is_one_and_has_a_source():
    assert len({(form.title, form.samples) for form in CATALOGUE}) == len(CATALOGUE)
    for form in CATALOGUE:
        cited = form.source.split(",")[0] in REFERENCES
        assert cited or form.source.startswith(PUBLIC_CODE_OR_REPORTS), form.source


TOKEN_LEVEL = {"each token": True, "whole answer": False}


@pytest.mark.slow
@IN_ONE_PROCESS
def test_a_trainer_s_kl_term_acts_and_ends_as_its_table_derives():
    for term, report in zip(KL_TERMS, reports("KL terms"), strict=True):
        if term.divergence is None:
            assert report.acts_on in ("not known", "no penalty"), term.title
            assert (report.selects, term.selects) == ("none", "not known"), term.title
        else:
            assert (TOKEN_LEVEL[report.acts_on], report.selects) == (term.token, term.selects), term.title
            assert (FORWARD if term.divergence.name == "forward_kl" else REVERSE) in report.descended.name


def test_in_parallel_the_reports_keep_their_order_and_another_table_s_are_no_forms(monkeypatch):
    monkeypatch.setattr(catalogue, "LOSSES", {"published": CATALOGUE[:3]})
    finished = []
    audits = audit_catalogue(on_report=finished.append)
    assert [report.loss for report in audits] == ["k1", "k2", "k3"]
    assert {report.loss for report in finished} == {"k1", "k2", "k3"}
    with pytest.raises(ValueError, match="k1 on filtered samples is no form"):
        form_of(type(audits[0])(**{**vars(audits[0]), "samples": "filtered"}))


def test_the_catalogue_command_audits_one_trainer_and_names_those_that_there_are():
    listed = CliRunner().invoke(catalogue_command, [])
    assert "Tinker (3)" in listed.output
    assert f"papers ({len(CATALOGUE)})" in listed.output
    audited = CliRunner().invoke(catalogue_command, ["tinker"])
    assert audited.output.count("Tinker 9dfcc3a2e, ") == 3
    assert "the gradient of the\n  reverse KL(pi||ref) of each token." in audited.output
    unknown = CliRunner().invoke(catalogue_command, ["nix"])
    assert unknown.exit_code == 2
    assert "trainer='nix' is not allowed: one of papers, trl, verl" in unknown.output
