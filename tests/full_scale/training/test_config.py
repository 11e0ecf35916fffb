from dataclasses import fields

import pytest
from support.tiny_training import SETTINGS, TRL_WARNS

from full_scale.training.online import OnlineConfig
from full_scale.training.resume import FREE, course

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


def config(folder, **changes):
    return OnlineConfig(output_dir=str(folder), **{**SETTINGS, **changes})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"eta": -0.1}, "eta"),
        ({"eta": float("inf")}, "eta"),
        ({"divergence": "kl"}, "divergence.*forward_kl"),
        ({"divergence": "alpha"}, "alpha"),
        ({"alpha": 0.2}, "alpha"),
        ({"rehearsal_level": "word"}, "rehearsal_level.*token, sequence"),
        ({"rehearsal_reduction": "mean"}, "rehearsal_reduction.*token_mean"),
        ({"rehearsal_rows": 0}, "rehearsal_rows"),
        ({"online": "always"}, "online.*alpha_dpg"),
        ({"generation_rows": 0}, "generation_rows=0"),
        ({"sync_ref_model": True, "beta": 0.1}, "sync_ref_model=True.*initial model"),
        ({"use_transformers_continuous_batching": True}, "continuous_batching=True.*16-bit"),
        ({"fp16": True}, "fp16=True.*scaled"),
        ({"baseline": "two"}, "baseline='two'"),
        ({"baseline": "one", "scale_rewards": "group"}, "baseline='one'"),
        ({"online_from": 0.5}, "online_from=0.5"),
        ({"online": "sequence_kl", "online_coefficient": 0.1, "online_from": 0.01}, "online_from=0.01"),
        ({"excess_bound": 0.1}, "excess_bound=0.1"),
        ({"online": "definition", "mask_truncated_completions": True}, "mask_truncated_completions"),
    ],
)
def test_settings_that_cannot_be_are_named(tmp_path, settings, named):
    with pytest.raises(ValueError, match=named):
        config(tmp_path, **settings)


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
    plain, changed = course(config(tmp_path)), course(config(tmp_path, **{name: value}))
    assert {key for key in plain if plain[key] != changed[key]} == {name}


def test_the_length_counts_where_the_learning_rate_depends_on_it(tmp_path):
    for schedule, counts in (("constant", False), ("linear", True), ("cosine", True)):
        runs = [course(config(tmp_path, lr_scheduler_type=schedule, max_steps=n)) for n in (4, 5)]
        assert (runs[0] != runs[1]) == counts
