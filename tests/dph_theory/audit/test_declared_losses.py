"""Policy losses as people write them are named by the trainers' they are; variants are told apart."""

from dataclasses import replace

import pytest
import torch

from dph_theory.audit import audit
from dph_theory.audit.called_loss import Audited
from dph_theory.audit.declared_losses import declared_loss


def tokens(values, mask):
    return -(values * mask).sum() / mask.sum()


def answers(values, mask):
    return -((values * mask).sum(-1) / mask.sum(-1).clamp(min=1)).mean()


def sums(values, mask):
    return -(values * mask).sum(-1).mean()


def clip(ratio, advantages, low=0.8, high=1.2):
    return torch.min(ratio * advantages, ratio.clamp(low, high) * advantages)


def everything(values, mask):
    return -(values * mask).sum()


def padded(values, mask):
    return -(values * mask).sum() / mask.shape[1]


def mean(values, mask):
    return (values * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)


def loss(surrogate, reduction=tokens):
    """Of the ratio, the advantage, log pi, and the log ratio's mean over an answer."""

    def policy_loss(log_pi, log_old, advantages, mask):
        x = log_pi - log_old
        return reduction(surrogate(x.exp(), advantages, log_pi, mean(x, mask)), mask)

    return policy_loss


def gspo(low, high):
    return lambda r, a, log_pi, x: clip(x.exp(), a, low, high).expand_as(r)


def cispo(high):
    return lambda r, a, log_pi, x: r.clamp(max=high).detach() * a * log_pi


def sapo(r, a, log_pi, x):
    t = torch.where(a > 0, 1.0, 1.05)
    return 4 / t * torch.sigmoid(t * (r - 1)) * a


def dual(r, a, log_pi, x):
    return torch.where(a < 0, torch.max(clip(r, a), 3 * a), clip(r, a))


def gmpo(log_pi, log_old, advantages, mask):
    sign, x = torch.sign(advantages), log_pi - log_old
    near = sign * torch.min(sign * x, sign * x.clamp(-0.2, 0.2))
    return (
        -((near * mask).sum(-1) / mask.sum(-1)).exp().mul((advantages * mask).sum(-1) / mask.sum(-1)).mean()
    )


def tis(log_pi, log_old, log_rollout, advantages, mask):
    weight = (log_old - log_rollout).exp().clamp(max=2.0).detach()
    return tokens(weight * clip((log_pi - log_old).exp(), advantages, 0.8, 1.28), mask)


def of_answers(log_pi, log_old, advantages, mask):
    return -clip(((log_pi - log_old) * mask).sum(-1).exp(), mean(advantages, mask)[:, 0]).mean()


def entropy(log_pi, log_old, advantages, mask):
    return tokens(clip((log_pi - log_old).exp(), advantages) - 0.001 * log_pi, mask)


def in_float32(log_pi, log_old, advantages, mask):
    return tokens(clip((log_pi.float() - log_old.float()).exp(), advantages.float()), mask.float())


def centred(log_pi, log_old, advantages, mask):
    x = log_pi - log_old
    return tokens(clip((x - x.mean(0, keepdim=True)).exp(), advantages), mask)


def with_reference(log_pi, log_ref, advantages, mask):
    return tokens(clip((log_pi - log_ref).exp(), advantages), mask)


ORDINARY = loss(lambda r, a, *_: clip(r, a))
TRL = "as TRL 1.16 has it (loss_type="
DAPO, GRPO, DR_GRPO = (
    f"is {name} {TRL}{name.lower().replace('. ', '_')}" for name in ("DAPO", "GRPO", "Dr. GRPO")
)
CISPO, VERL = f"is CISPO {TRL}cispo", "as verl 1dda039b9 has it (loss_mode="
SEQUENCE, NONE = f"{TRL}grpo, importance_sampling_level=sequence)", "is none of the 51 declared ones"


@pytest.mark.parametrize(
    ("policy_loss", "named"),
    [
        (ORDINARY, f"{DAPO}), like AReaL and NeMo-RL; on and off policy, to 1e-6."),
        (loss(lambda r, a, *_: clip(r, a), answers), f"{GRPO}), like oat and slime;"),
        (loss(lambda r, a, *_: clip(r, a) / 4, sums), f"{DR_GRPO}, max_completion_length=4);"),
        (loss(lambda r, a, *_: clip(r, a, high=1.272)), "is DAPO as open-instruct e6c3044aa has it ("),
        (loss(gspo(0.8, 1.2), answers), f"is GSPO {SEQUENCE}, like OpenRLHF and verl;"),
        (loss(gspo(0.8, 1.2), sums), f"is LUSPO {TRL}luspo, importance_sampling_level=sequence);"),
        (loss(cispo(5)), f"{CISPO}, epsilon_high=5);"),
        (loss(cispo(5), answers), "is CISPO as slime 624b824a8 has it (compute_cispo_loss, "),
        (loss(sapo, answers), f"is SAPO {TRL}sapo), like verl;"),
        (gmpo, f"is GMPO {VERL}geo_mean)"),
        (loss(dual), f"is dual-clip PPO {VERL}vanilla), like NeMo-RL and SkyRL;"),
        (loss(lambda r, a, log_pi, x: a * log_pi), f"is REINFORCE {VERL}gpg), like NeMo-RL;"),
        (loss(lambda r, a, *_: r * a), "is importance sampling as NeMo-RL 7ea279abf has it ("),
        (tis, "is TIS as verl 1dda039b9 has it (rollout_correction.rollout_is=token);"),
        (loss(cispo(3)), "is TIS as TRL 1.16 has it (use_vllm, mode token_truncate);"),
        (entropy, f"{DAPO}), like"),
        (in_float32, f"{DAPO}), like AReaL and NeMo-RL; on and off policy, to 2e-5."),
        # Variants: what is another's, and where.
        (loss(gspo(0.9997, 1.0004), answers), f"is GSPO {SEQUENCE}, but clipped to 0.9997 and 1.0004;"),
        (loss(gspo(0.8, 1.2)), f"is GSPO {SEQUENCE}, but it differs where lengths differ;"),
        (loss(cispo(2.5)), f"{NONE}; nearest is CISPO {TRL}cispo, epsilon_high=5), but it differs"),
        (loss(lambda r, a, *_: clip(r, a, 0.9, 1.1), answers), f"{GRPO}), but clipped to 0.9 and 1.1;"),
        (loss(lambda r, a, *_: clip(r, a) / 4), f"{DAPO}), like".replace("DAPO", "0.25 times DAPO", 1)),
        (loss(lambda r, a, *_: -clip(r, a)), f"{DAPO}), like".replace("DAPO", "the reverse of DAPO", 1)),
        (of_answers, f"{GRPO}), but of the product of an answer's ratios, clipped to 0.8 and 1.2;"),
        (loss(lambda r, a, *_: clip(r, a), everything),
         f"{DR_GRPO}, max_completion_length=4), but it differs in batches of several answers"),
        (loss(lambda r, a, *_: clip(r, a), padded), f"{DAPO}), but it differs in batches of several answers"),
        (loss(lambda r, a, log_pi, x: r.clamp(max=5.0) * a * log_pi), f"{NONE}: it differs on policy, by"),
        (loss(lambda r, a, log_pi, x: r.clamp(min=1.28).detach() * a * log_pi),
         f"{NONE}; nearest is REINFORCE {VERL}gpg), but it differs where pi/old > 1 and A > 0"),
        (loss(lambda r, a, *_: torch.max(r * a, r.clamp(0.8, 1.2) * a)), f"{NONE}; nearest is"),
        (centred, f"{NONE}: a token alone has no gradient on policy."),
        (with_reference, NONE),
    ],
)  # fmt: skip
def test_a_policy_loss_is_named_by_the_trainer_s_it_is(policy_loss, named):
    precision = "float32" if policy_loss is in_float32 else "float64"
    assert named in declared_loss(replace(Audited.from_function(policy_loss), precision=precision))


def test_it_stands_in_the_verdict_on_policy_and_where_nothing_else_is_known_off_policy():
    small, ordinary = loss(gspo(0.9997, 1.0004), answers), ORDINARY
    on, off = (audit(small, samples=samples, name="mine") for samples in ("policy", "old_policy"))
    assert "Its policy loss is GSPO" in on.verdict
    assert "pi/old >= 1.0004 if A > 0" in dict(on.rows())["zero gradient of a single token at"]
    assert off.verdict.startswith("mine on old policy samples: Its policy loss is GSPO")
    assert "Its policy loss" not in audit(ordinary, samples="old_policy").verdict


def test_a_clip_of_answers_is_told_in_terms_of_their_product_not_of_two_tokens():
    report = audit(of_answers, samples="old_policy")
    assert report.limits[0].words == "the product over an answer of the ratio pi/old is between 0.8 and 1.2"
    assert "pi/old >= 1.2 if A > 0" in dict(report.rows())["zero gradient of a single token at"]


def weighed(down, up=1.0):
    """The ordinary clipped loss with the two signs of advantages weighed apart."""
    return loss(lambda r, a, *_: clip(r, a) * torch.where(a > 0, up, down))


def documented_sapo(r, a, *_):
    """Without the division by the temperature: 1/4 of SAPO's slope where A > 0, 1.05/4 where A < 0."""
    return torch.sigmoid(torch.where(a > 0, 1.0, 1.05) * (r - 1)) * a


@pytest.mark.parametrize(
    ("policy_loss", "named"),
    [
        (weighed(0.5), f"{DAPO}), but tokens of A < 0 are weighed 0.5 times as much; on"),
        (weighed(0.1), f"{DAPO}), but tokens of A < 0 are weighed 0.1 times as much; on"),
        (weighed(0.0), f"{DAPO}), but tokens of A < 0 have no gradient; on"),
        (weighed(-1.0), f"{DAPO}), but tokens of A < 0 are reversed; on"),
        (weighed(-0.5), f"{DAPO}), but tokens of A < 0 are reversed and weighed 0.5 times as much; on"),
        (weighed(1.0, up=0.0), f"{DAPO}), but tokens of A > 0 have no gradient; on"),
        (weighed(1.0, up=0.1), "is 0.1 times DAPO as TRL"),
        (weighed(1.0, up=0.1), "but tokens of A < 0 are weighed 10 times as much; on"),
        (weighed(-1.0, up=-1.0), "is the reverse of DAPO as TRL"),
        (loss(documented_sapo, answers), "is 0.25 times SAPO as TRL"),
        (loss(documented_sapo, answers), "but tokens of A < 0 are weighed 1.05 times as much; on"),
        (loss(lambda r, a, *_: clip(r, a * a.abs())), "it differs on policy, by the size of the advantage"),
        (loss(lambda r, a, *_: clip(r, a.sign())), "it differs on policy, by the size of the advantage"),
    ],
)
def test_one_scale_holds_for_all_advantages(policy_loss, named):
    """A scale of its own for each sign would hide what a loss makes of the signs."""
    assert named in declared_loss(Audited.from_function(policy_loss))
