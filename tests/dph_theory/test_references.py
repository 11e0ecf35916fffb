import pytest

from dph_theory.references import REFERENCES, Source


def test_keys_are_unique_and_complete():
    assert all(key == reference.key and reference.title for key, reference in REFERENCES.items())


def test_a_source_reads_as_key_and_place():
    assert str(Source("li2025choice", "Theorem 1")) == "li2025choice, Theorem 1"
    assert str(Source("ours")) == "ours"


def test_an_unknown_key_is_named():
    with pytest.raises(ValueError, match="key='nobody2020' is not allowed: one of dymetman2026binary"):
        Source("nobody2020")
