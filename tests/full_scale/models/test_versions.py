import pytest

from full_scale.models import versions


def test_the_pinned_versions_are_the_installed_ones():
    versions.check_versions()


@pytest.mark.parametrize("have", ["1.15.9", "2.16.0", "(not installed)"])
def test_another_minor_version_is_refused_with_what_to_install(monkeypatch, have):
    monkeypatch.setattr(versions, "_installed", lambda name: have if name == "trl" else "5.23.7")
    with pytest.raises(RuntimeError) as error:
        versions.check_versions()
    assert f"trl {have}" in str(error.value)
    assert "pip install 'trl==1.16.*' 'transformers==5.23.*'" in str(error.value)
    assert "transformers 5" not in str(error.value)


def test_what_is_not_installed_is_said_so():
    assert versions._installed("no-such-distribution") == "(not installed)"
