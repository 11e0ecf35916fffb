import pytest

from dph_theory.audit.policy_losses.table import POLICY_LOSSES
from dph_theory.audit.trainers import TRAINERS


@pytest.mark.parametrize("table", [TRAINERS, POLICY_LOSSES], ids=("kl", "policy"))
def test_every_setting_stands_once(table):
    keys = [(form.trainer, form.version, form.file, form.flag) for form in table]
    assert len(set(keys)) == len({form.name for form in table}) == len(keys)
    assert table[0].name == f"TRL 1.16, {table[0].flag}"
