"""What the losses accept, and what the errors say of the rest."""

from inspect import unwrap

import pytest
import torch

from dph_theory.losses import (
    alpha_dpg_rewards,
    dph_loss,
    generator_loss,
    group_advantages,
    informative_groups,
    kl_penalty,
    ppo_clip_loss,
)
from dph_theory.losses.inputs import booleans, floats

X, A, MASK = torch.zeros(2, 3), torch.zeros(2), torch.ones(2, 3, dtype=torch.bool)
NAN, ONE = float("nan"), torch.tensor(1.0)
CLIP = {"clip_low": 0.2, "clip_high": 0.28}
GOOD = {
    alpha_dpg_rewards: {"log_pi": X, "log_base": X, "valid": MASK, "log_base_rate": A, "alpha": 0.5},
    ppo_clip_loss: CLIP | {"log_pi": X, "log_old": X, "advantages": A, "mask": MASK},
    group_advantages: {"rewards": X},
    informative_groups: {},
    generator_loss: {"divergence": "forward_kl", "log_ratio": X, "mask": MASK},
    kl_penalty: {"estimator": "k3", "log_pi": X, "log_ref": X, "mask": MASK},
    dph_loss: {"exploration": ONE, "rehearsal": ONE, "eta": 0.1},
}
REFUSED = [
    (alpha_dpg_rewards, {"alpha": 0.0}, r"alpha=0\.0.*\(0, inf\)"),
    (alpha_dpg_rewards, {"ratio_clip": 0.0}, r"ratio_clip=0\.0.*\(0, inf\)"),
    (alpha_dpg_rewards, {"log_pi": X.long()}, r"log_pi\.dtype=torch\.int64"),
    (alpha_dpg_rewards, {"log_base": X[:1]}, r"log_base \(1, 3\)"),
    (alpha_dpg_rewards, {"log_base_rate": A[:1]}, r"log_base_rate\.shape=\(1,\).*\(2,\)"),
    (alpha_dpg_rewards, {"log_base_rate": A + 1}, r"log_base_rate=1\.0.*at most 0"),
    (alpha_dpg_rewards, {"valid": 3 * MASK}, r"valid=3.*zeros and ones"),
    (ppo_clip_loss, {"clip_low": 1.0}, r"clip_low=1\.0.*a number in \(0, 1\)"),
    (ppo_clip_loss, {"clip_high": 0.0}, r"clip_high=0\.0.*\(0, inf\)"),
    (ppo_clip_loss, {"clip_high": NAN}, "clip_high=nan"),
    (ppo_clip_loss, {"dual_clip": 1.0}, r"dual_clip=1\.0.*\(1, inf\)"),
    (ppo_clip_loss, {"level": "word"}, "level='word'.*token, sequence"),
    (ppo_clip_loss, {"reduction": "mean"}, "reduction='mean'.*token_mean, sequence_mean, sum"),
    (ppo_clip_loss, {"advantages": A[:1]}, r"advantages\.shape=\(1,\).*\(2, 3\)"),
    (ppo_clip_loss, {"advantages": X, "level": "sequence"}, r"advantages\.shape=\(2, 3\).*\(batch\)"),
    (ppo_clip_loss, {"advantages": A.long()}, r"advantages\.dtype=torch\.int64"),
    (ppo_clip_loss, {"log_old": X[:1]}, r"log_old \(1, 3\)"),
    (ppo_clip_loss, {"mask": ~MASK}, "mask='all 6 tokens masked'.*at least one token"),
    (group_advantages, {"rewards": X.long()}, r"rewards\.dtype=torch\.int64"),
    (group_advantages, {"rewards": X + torch.tensor([0, 0, NAN])}, "rewards=nan is not allowed: finite"),
    (group_advantages, {"baseline": "none"}, "divided_by='std'.*none with baseline='none'"),
    (group_advantages, {"rewards": X - 1, "divided_by": "mean"}, "rewards=-1.0 is not allowed.*at least 0"),
    (group_advantages, {"divided_by": "mean", "baseline": "one"}, "divided_by='mean'.*none with baseline"),
    (group_advantages, {"divided_by": "range"}, "divided_by='range'"),
    (informative_groups, {"rewards": X[:, :1]}, r"rewards\.shape=\(2, 1\).*at least two"),
    (generator_loss, {"divergence": "kl"}, "divergence='kl'.*one of forward_kl, reverse_kl, jensen_shannon"),
    (generator_loss, {"level": "row"}, "level='row'.*token, sequence"),
    (generator_loss, {"gauge": "raw"}, """gauge='raw'.*"printed", "normalised", or a finite number"""),
    (generator_loss, {"gauge": NAN}, "gauge=nan"),
    (generator_loss, {"log_ratio": X.long()}, r"log_ratio\.dtype=torch\.int64.*float64, float32, bfloat16"),
    (generator_loss, {"log_ratio": X[0]}, r"log_ratio\.shape=\(3,\).*\(batch, tokens\)"),
    (generator_loss, {"mask": MASK[:, :2]}, r"log_ratio \(2, 3\), mask \(2, 2\); they must be equal"),
    (generator_loss, {"mask": 2.0 * MASK}, r"mask=2\.0.*booleans, or zeros and ones"),
    (kl_penalty, {"estimator": "k4"}, "estimator='k4'.*one of k1, k2, k3, k3_corrected"),
    (kl_penalty, {"estimator": "k3_corrected"}, "log_old=None.*k3_corrected needs it"),
    (kl_penalty, {"log_old": X}, "log_old=a tensor.*no other estimator takes it"),
    (kl_penalty, {"form": "advantage"}, "form='advantage'.*loss, reward"),
    (dph_loss, {"eta": -0.1}, r"eta=-0\.1.*at least 0"),
    (dph_loss, {"eta": NAN}, "eta=nan"),
    (dph_loss, {"rehearsal": torch.ones(2)}, r"rehearsal\.shape=\(2,\)"),
    (dph_loss, {"exploration": torch.tensor(1)}, r"exploration\.dtype=torch\.int64"),
]


@pytest.mark.parametrize(("call", "changed", "words"), REFUSED, ids=lambda arg: getattr(arg, "__name__", ""))
def test_an_error_names_the_argument_its_value_and_what_is_allowed(call, changed, words):
    with pytest.raises(ValueError, match=words):
        call(**GOOD[call] | changed)


@pytest.mark.parametrize(("check", "rest"), [(booleans, ()), (floats, (("batch",),))])
def test_what_is_no_tensor_is_named(check, rest):
    # Without the check of annotations, which is not there where the package is used.
    with pytest.raises(ValueError, match=r"mask='list'.*tensor"):
        unwrap(check)("mask", [True], *rest)


@pytest.mark.parametrize("mask", [MASK, MASK.int(), MASK.float(), MASK.bfloat16()])
def test_a_mask_may_be_booleans_or_zeros_and_ones(mask):
    assert generator_loss("forward_kl", X + 1, mask) == -1
