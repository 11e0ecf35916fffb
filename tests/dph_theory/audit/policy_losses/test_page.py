import pytest

from dph_theory.audit.policy_losses import audit_policy_loss
from dph_theory.audit.policy_losses.page import section, zone_words
from dph_theory.audit.policy_losses.table import POLICY_LOSSES, audit_row

INF = float("inf")


def test_zones_in_words():
    assert zone_words(()) == "none"
    assert zone_words(((0.0, 0.8), (3.0, INF))) == "r <= 0.8, r >= 3"
    assert zone_words(((0.5, 0.8),)) == "0.5 <= r <= 0.8"


def test_a_row_has_every_column():
    text = section([audit_row(1, 0)])
    *_, line = text.strip().splitlines()
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert cells[:2] == ["TRL", "1.16"]
    assert cells[5:9] == ["zero", "minus expected reward", "no penalty", "none"]
    assert cells[11:13] == ["r >= 1.2", "r \\<= 0.8"]
    with pytest.raises(ValueError, match="is no policy loss of the table"):
        section([audit_policy_loss(POLICY_LOSSES[1].loss, name="mine")])
