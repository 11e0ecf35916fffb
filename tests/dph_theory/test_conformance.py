import json
import subprocess
import sys

import pytest

from dph_pytest import _same
from dph_theory.audit import audit
from dph_theory.conformance import claims_of, conforms, violations


def corrected(log_pi, log_ref, log_old, mask):
    """TRL's corrected k3, a ratio of at most 2."""
    x = log_pi - log_ref
    ratio = (log_pi - log_old).exp().clamp(max=2.0)
    return ((ratio * ((-x).exp() - 1 + x)) * mask).sum() / mask.sum()


def k2(log_pi, log_ref, mask):
    return (((log_pi - log_ref) ** 2 / 2).clamp(max=10) * mask).sum(-1).mean()


@pytest.mark.parametrize(
    ("loss", "claimed", "wrong"),
    [
        (k2, {"kl": "token reverse KL", "mask": "any"}, []),
        (k2, {"kl": "token reverse KL", "exact_for": "|log u| <= 4"}, []),
        (k2, {"exact_for": "|log u| <= 5"}, ["|log u| <= 5: exact only while -4.47 <= log(pi/ref) <= 4.47"]),
        (k2, {"kl": "token forward KL"}, ["on sequences it descends token sum of reverse KL"]),
        (k2, {"kl": "none"}, ["on sequences it descends token sum of reverse KL"]),
        (corrected, {"kl": "token reverse KL", "exact_for": "ratio <= 2", "samples": "old_policy"}, []),
        (corrected, {"exact_for": "ratio <= 3", "samples": "old_policy"}, ["ratio <= 3: exact only while"]),
        (
            lambda log_pi, log_ref: (log_pi - log_ref).square().sum(),
            {"kl": "token reverse KL", "mask": "any"},
            [],
        ),
        (lambda log_pi, log_ref, mask: (log_pi - log_ref).square().sum(), {"mask": "any"}, ["mask='any'"]),
        (lambda log_pi: log_pi.nope, {"kl": "none"}, ["could not be audited"]),
    ],
)
def test_claims_are_held_against_the_audit(loss, claimed, wrong):
    claims = claims_of(conforms(**claimed)(lambda: None))
    found = violations(claims, audit(loss, samples=claims.samples))
    assert len(found) >= len(wrong)
    assert bool(found) == bool(wrong)
    assert all(any(words in said for said in found) for words in wrong)


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ({"kl": "k3"}, "kl='k3' is not allowed"),
        ({"mask": "some"}, "mask='some' is not allowed"),
        ({"exact_for": "ratio < 2"}, "exact_for='ratio < 2' is not allowed"),
        ({"samples": "any"}, "samples='any' is not allowed"),
    ],
)
def test_what_cannot_be_claimed_is_refused(claimed, message):
    with pytest.raises(ValueError, match=message):
        conforms(**claimed)


LOSSES = """
from dph_theory.conformance import conforms

@conforms(kl="token reverse KL", mask="any")
def penalty(log_pi, log_ref, mask):
    x = log_pi - log_ref
    return ({term} * mask).sum(-1).mean()
"""


def run(folder, *arguments):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_a_lock_holds_a_loss_to_its_verdict(tmp_path):
    (tmp_path / "test_losses.py").write_text("from losses import penalty\n")
    (tmp_path / "losses.py").write_text(LOSSES.format(term="x**2 / 2"))
    assert run(tmp_path).returncode == 5, "nothing is collected unless asked for"
    first = run(tmp_path, "--dph")
    assert first.returncode == 1
    assert "losses:penalty is not in dph.lock.json: pytest --dph --dph-update writes it" in first.stdout
    assert run(tmp_path, "--dph", "--dph-update").returncode == 0
    held = json.loads((tmp_path / "dph.lock.json").read_text())
    assert set(held) == {"schema", "losses"}
    assert held["schema"] == 1
    assert set(held["losses"]["losses:penalty"]) == {"verdict", "law", "selects"}
    assert held["losses"]["losses:penalty"]["law"] == "each token"
    assert run(tmp_path, "--dph").returncode == 0
    # A clamp leaves what it descends near, and moves the verdict.
    (tmp_path / "losses.py").write_text(LOSSES.format(term="(x**2 / 2).clamp(max=8)"))
    changed = run(tmp_path, "--dph")
    assert changed.returncode == 1
    assert "it was: penalty on policy samples" in changed.stdout
    assert "it is:  penalty on policy samples" in changed.stdout
    (tmp_path / "losses.py").write_text(LOSSES.format(term="((-x).exp() - 1 + x)"))
    wrong = run(tmp_path, "--dph", "--dph-update")
    assert wrong.returncode == 1
    assert "kl='token reverse KL': on sequences it descends token sum of forward KL" in wrong.stdout


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("nearest reward at up to 6 degrees; 0.04 times; pi/old <= 5 (off by 0.011 of its size)", True),
        ("nearest reward at up to 5 degrees; 0.04 times; pi/old <= 4.99 (off by 0.01 of its size)", True),
        ("nearest reward at up to 9 degrees; 0.04 times; pi/old <= 5 (off by 0.01 of its size)", False),
        ("nearest reward at up to 5 degrees; 0.05 times; pi/old <= 5 (off by 0.01 of its size)", False),
        ("nearest reward at up to 5 degrees; 0.04 times; pi/old <= 2 (off by 0.01 of its size)", False),
        ("nearest entropy at up to 5 degrees; 0.04 times; pi/old <= 5 (off by 0.01 of its size)", False),
    ],
)
def test_a_last_digit_is_no_other_verdict(other, same):
    held = "nearest reward at up to 5 degrees; 0.04 times; pi/old <= 5 (off by 0.01 of its size)"
    assert _same(held, other) == same


def of_the_reward(log_pi, log_ref, advantages, mask, *, dropped):
    """GRPO with .1 times the KL of the whole answer in its reward; slime computes that and drops it."""
    kl = ((log_pi - log_ref).detach() * mask).sum(-1, keepdim=True)
    weights = advantages if dropped else advantages - 0.1 * kl
    return -(weights * log_pi * mask).sum(-1).mean()


@pytest.mark.parametrize("dropped", [False, True])
def test_a_coefficient_that_is_dropped_is_caught(dropped):
    claims = claims_of(conforms(kl="reverse KL")(lambda: None))

    def loss(log_pi, log_ref, advantages, mask):
        return of_the_reward(log_pi, log_ref, advantages, mask, dropped=dropped)

    wrong = ["kl='reverse KL': on sequences it descends nothing known"] if dropped else []
    assert violations(claims, audit(loss)) == wrong
