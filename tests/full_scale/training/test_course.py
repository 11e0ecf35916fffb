from dataclasses import fields

import pytest
from support.tiny_training import SETTINGS, TRL_WARNS

from full_scale.training.course import FREE, course
from full_scale.training.online import OnlineConfig

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


def arguments(folder, **changes):
    return OnlineConfig(output_dir=str(folder), **{**SETTINGS, **changes})


def test_what_is_left_out_are_fields_there_are():
    assert {field.name for field in fields(OnlineConfig)} >= FREE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("entropy_coef", 0.1),
        ("top_entropy_quantile", 0.5),
        ("disable_dropout", True),
        ("generation_kwargs", {"min_p": 0.1}),
        ("lr_scheduler_kwargs", {"num_cycles": 2}),
        ("eta", 0.3),
        ("online_coefficient", 0.3),
        ("vllm_importance_sampling_correction", False),
    ],
)
def test_every_setting_counts_that_is_not_left_out(tmp_path, name, value):
    plain, changed = course(arguments(tmp_path)), course(arguments(tmp_path, **{name: value}))
    assert {key for key in plain if plain[key] != changed[key]} == {name}


def test_the_length_counts_where_the_learning_rate_depends_on_it(tmp_path):
    for schedule, counts in (("constant", False), ("linear", True), ("cosine", True)):
        runs = [course(arguments(tmp_path, lr_scheduler_type=schedule, max_steps=n)) for n in (4, 5)]
        assert (runs[0] != runs[1]) == counts
