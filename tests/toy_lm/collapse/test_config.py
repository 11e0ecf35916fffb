from dataclasses import asdict

import pytest

from toy_lm.collapse import Config


def test_the_quick_run_is_a_part_of_the_full_one():
    quick, full = asdict(Config.quick()), asdict(Config())
    for name, value in quick.items():
        assert set(value) <= set(full[name]) if isinstance(value, tuple) else value <= full[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("starts", 0),
        ("rounds", 0),
        ("strengths", ()),
        ("strengths", (1.0, -1.0)),
        ("alphas", (1.0,)),
        ("targets", (0.0,)),
        ("random_alphas", (float("nan"),)),
        ("random_targets", (0.3,)),
    ],
)
def test_bad_configurations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        Config(**{name: value})
