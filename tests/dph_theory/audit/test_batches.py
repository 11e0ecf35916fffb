import pytest

from dph_theory.audit import audit


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return x.exp() - 1 - x


def token_mean(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum() / mask.sum()


def sequence_mean(log_pi, log_ref, mask):
    return ((k3(log_pi, log_ref) * mask).sum(dim=-1) / mask.sum(dim=-1)).mean()


def padded_mean(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).mean()


def answer_sum(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum(dim=-1).mean()


def total(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum()


def careless(log_pi, log_ref, mask):
    return k3(log_pi, log_ref).mean()


def whole_answer(log_pi, log_ref, mask):
    cost = ((log_pi - log_ref).detach() * mask).sum(dim=-1)
    return ((log_pi * mask).sum(dim=-1) * cost).mean()


@pytest.mark.parametrize(
    ("loss", "batch", "tokens", "padding"),
    [
        (token_mean, "token mean", "mean", "ignored"),
        (sequence_mean, "mean", "mean", "ignored"),
        (padded_mean, "mean", "mean", "divides by the padded length"),
        (answer_sum, "mean", "sum", "ignored"),
        (total, "sum", "sum", "ignored"),
        (careless, "mean", "mean", "ignores its mask"),
        (whole_answer, "mean", "other", "ignored"),
    ],
)
def test_the_divisions_are_told_apart(loss, batch, tokens, padding):
    found = audit(loss).reduction
    assert (found.batch, found.tokens, found.padding) == (batch, tokens, padding)


def test_what_unequal_lengths_change_is_told():
    assert audit(token_mean).unequal_gradient.per_token
    assert "where lengths differ" not in dict(audit(token_mean).rows())
    rows = dict(audit(sequence_mean).rows())
    assert rows["where lengths differ"].startswith("none of the known quantities; nearest is")
    assert rows["adds up"] == "mean over each sequence's tokens, mean over sequences"
    assert "It depends on how far the batch is padded." in audit(padded_mean).verdict
    assert "It IGNORES ITS MASK" in audit(careless).verdict


def test_a_loss_that_fails_on_several_sequences_says_so():
    def misaligned(log_pi, log_ref, advantages, mask):
        # A number for each token meets the sums over the sequences: alone a sequence goes through.
        return -(advantages * mask * (log_pi * mask).sum(dim=-1)).mean()

    report = audit(misaligned)
    assert "It FAILS on batches of several sequences (it raised RuntimeError: The size" in report.verdict
    assert [failure.problem for failure in report.failures] == ["batches of several sequences"]
    assert "FAILS" not in audit(token_mean).verdict


REVERSE = "reverse KL(pi||ref)"


def costs(log_pi, log_ref, mask):
    return ((log_pi - log_ref).detach() * mask).sum(dim=-1)


def minus_batch_mean(log_pi, log_ref, mask):
    cost = costs(log_pi, log_ref, mask)
    return ((log_pi * mask).sum(dim=-1) * (cost - cost.mean())).mean()


def minus_the_others(log_pi, log_ref, mask):
    """Fails on a batch of one."""
    cost = costs(log_pi, log_ref, mask)
    return ((log_pi * mask).sum(dim=-1) * (cost - (cost.sum() - cost) / (len(cost) - 1))).mean()


def all_pairs(log_pi, log_ref, mask):
    x = ((log_pi - log_ref) * mask).sum(dim=-1)
    return ((x[:, None] - x[None, :]) ** 2).sum() / 4


def log_mean_exp(log_pi, log_ref, mask):
    return ((log_ref - log_pi) * mask).sum(dim=-1).exp().mean().log()


def test_a_batch_mean_baseline_is_not_zero():
    report = audit(minus_batch_mean)
    constants = [match.constant for _, match in report.batches.gradients[1:]]
    assert constants == pytest.approx([1 / 2, 2 / 3])
    assert "at B = 2, 0.5 times the reverse KL(pi||ref)" in report.verdict
    assert "ZERO" not in report.verdict
    # How far it holds is not searched on pairs.
    assert "exact" not in dict(report.rows())
    assert report.sequence_gradient.name == REVERSE
    assert report.selects == "filtered model"


@pytest.mark.parametrize(("loss", "constants"), [(minus_the_others, [1, 1]), (all_pairs, [2, 6])])
def test_the_dependence_on_the_batch_size_is_told(loss, constants):
    several = [match for size, match in audit(loss).batches.gradients if size > 1]
    assert all(match.exact for match in several)
    assert [match.constant for match in several] == pytest.approx(constants)


def test_what_is_not_recognised_is_said_with_every_size():
    verdict = audit(log_mean_exp).verdict
    assert "It couples the answers of a batch and descends, at B = 1" in verdict
    assert "at B = 3, none of the known quantities" in verdict


def kl_counted_by_the_batch(log_pi, log_ref, log_old, advantages, mask):
    """The KL term is multiplied by the number of sequences, as by a wrong broadcast."""
    policy = -(log_pi - log_old).exp() * advantages
    return ((policy + 0.02 * len(mask) * (log_pi - log_ref) ** 2) * mask).sum() / mask.sum()


def test_a_sum_whose_weights_depend_on_the_batch_size_is_told_at_every_size():
    verdict = audit(kl_counted_by_the_batch).verdict
    for size, weight in ((1, "0.04"), (2, "0.08"), (3, "0.12")):
        reward = f"at B = {size}, the reward's policy gradient"
        assert f"{reward} plus {weight} times the reverse KL(pi||ref)" in verdict


def less_its_mean(log_pi, log_ref, mask):
    """Zero on every batch of several, but for rounding; not a number on one."""
    cost = ((log_pi - log_ref) * mask).sum(dim=-1)
    away = cost - cost.mean()
    return (away / ((away**2).sum() / (len(cost) - 1) + 1e-3)).mean()


def test_rounding_is_not_taken_for_a_gradient():
    assert audit(less_its_mean).gradient.name == "zero"
