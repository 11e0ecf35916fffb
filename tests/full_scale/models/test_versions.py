import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from full_scale.models import versions

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("have", ["1.15.9", "(not installed)"])
def test_another_minor_version_than_the_pinned_is_refused_with_what_to_install(monkeypatch, have):
    versions.check_versions()
    assert versions._installed("no-such-distribution") == "(not installed)"
    monkeypatch.setattr(versions, "_installed", lambda name: have if name == "trl" else "5.23.7")
    with pytest.raises(RuntimeError, match=r"install 'trl==1\.16\.\*' 'transformers==5\.24\.\*'") as error:
        versions.check_versions()
    # The other one is not named.
    assert f"found trl {have}: " in str(error.value)


def extra(name):
    """The versions that an extra takes, by package."""
    texts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][name]
    return {found.name: found.specifier for found in map(Requirement, texts)}


def test_the_extra_takes_the_minor_versions_that_were_tested_and_no_others():
    for name, major in (("trl", 1), ("transformers", 5)):
        minors = (f"{major}.{minor}" for minor in range(9, 30))
        assert [minor for minor in minors if f"{minor}.1" in extra("full")[name]] == [*versions.TESTED[name]]


def test_the_extra_takes_engines_that_trl_and_the_tested_transformers_take():
    """By their metadata 0.28 to 0.30 take any transformers from 5.10.4 on, 0.31 none above 5.17."""
    ours = extra("vllm")["vllm"]
    (theirs,) = [found.specifier for found in map(Requirement, requires("trl")) if found.name == "vllm"]
    assert all(version in ours and version in theirs for version in ("0.28.0", "0.29.0", "0.30.0"))
    assert not any(version in ours for version in ("0.27.1", "0.31.0"))
