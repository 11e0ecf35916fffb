import json
from dataclasses import replace

import pytest
from support.small_strategies_run import SMALL, small_record

from dph_theory.support.files import write_json
from dph_theory.support.record import checked
from toy_lm.strategies import run

SHORT = replace(SMALL, steps=2)


def test_the_record_keeps_the_contract_and_survives_json(tmp_path):
    record = small_record()
    path = tmp_path / "strategies.json"
    write_json(path, record)
    assert json.loads(path.read_text()) == record == checked(record, "toy.strategies")
    assert record["config"]["strengths"] == [0.1, 1.0, 3.0]


def test_the_seed_draws_the_random_tasks_and_nothing_else():
    first, again, other = (run(SHORT, seed=seed)["results"] for seed in (0, 0, 1))
    assert first == again
    assert first.pop("random_tasks") != other.pop("random_tasks")
    assert first == other


def test_every_stage_is_told_to_its_end():
    heard = {}
    run(SHORT, progress=lambda stage, done, total: heard.setdefault(stage, []).append((done, total)))
    assert list(heard) == ["methods", "sweep", "targets and random tasks"]
    for told in heard.values():
        total = told[-1][1]
        assert told == [(done, total) for done in range(total + 1)]


def test_another_seed_than_a_whole_number_is_refused():
    with pytest.raises(ValueError, match="seed=-1"):
        run(SHORT, seed=-1)
