import json
import subprocess
import sys

import pytest

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
    assert held["schema"] == 1
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
