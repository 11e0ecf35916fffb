from pathlib import Path

import pytest

from dph_theory.predict import FORMS, kl_form


def test_trls_default_changed_with_its_version():
    assert kl_form("trl", version="1.9.2").name == "k3"
    assert kl_form("trl", version="1.10").name == "corrected-k3"
    assert kl_form("trl").selects == "the locally filtered model"
    assert "third" not in kl_form("trl", "k3").selects
    assert kl_form("trl", "k3").selects.startswith("the token forward limit")


def test_every_trainer_has_one_default():
    for trainer in {form.trainer for form in FORMS}:
        assert sum(form.default for form in FORMS if form.trainer == trainer) == 1
        assert kl_form(trainer).default


def test_only_the_reward_selects_the_filtered_model():
    for form in FORMS:
        assert (form.name == "reward") is (form.selects == "the filtered model")


def test_the_page_lists_every_form_with_its_law():
    page = (Path(__file__).parents[3] / "docs" / "what-will-my-beta-do.md").read_text()
    for form in FORMS:
        start = f"| {form.trainer} | `{form.flags.partition(' (')[0]}`".lower()
        (row,) = (line for line in page.splitlines() if line.lower().startswith(start))
        assert form.law in row
        assert form.selects.partition(",")[0] in row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tlr",), "one of trl, verl, openrlhf"),
        (("verl", "k1"), "one of k3"),
        (("trl", None, "main"), "version='main'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        kl_form(*arguments)
