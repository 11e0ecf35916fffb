import pytest
from support.tiny_training import TRL_WARNS

from full_scale.training.online import OnlineConfig

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


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
    ],
)
def test_settings_that_cannot_be_are_named(tmp_path, settings, named):
    with pytest.raises(ValueError, match=named):
        OnlineConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **settings)
