import json

from support.small_strategies_run import SMALL, small_record

from dph_theory.support.files import write_json
from toy_lm.strategies import read
from toy_lm.strategies.results import Lead


def test_a_record_is_the_same_after_a_file(tmp_path):
    write_json(tmp_path / "record.json", small_record())
    config, results = read(json.loads((tmp_path / "record.json").read_text()))
    assert (config, results) == read(small_record())
    assert config == SMALL
    assert results.method("DPH-F").eta == 1


def test_a_lead_is_known_where_both_happened():
    assert Lead(rise=0.1, meter_step=10, coverage_step=30).lead == 20
    assert Lead(rise=0.1, coverage_step=30).lead is None
