import pytest

from dph_theory.support.record import record
from toy_lm.experiments import EXPERIMENTS, RESUMABLE, experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_configuration_a_run_and_tables(name):
    found = experiment(name)
    assert found.Config.quick() != found.Config()
    assert callable(found.run)
    assert callable(found.tables)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_reads_its_own_records_only(name):
    other = record("toy.another", seed=0, config={}, results={}, findings=())
    with pytest.raises(ValueError, match=rf"record.kind='toy.another'.*only 'toy.{name}'"):
        experiment(name).tables(other)


def test_the_resumable_one_is_an_experiment():
    assert RESUMABLE in EXPERIMENTS


def test_an_unknown_experiment_is_told_the_others():
    with pytest.raises(ValueError, match="one of collapse, strategies, styles"):
        experiment("filtering")
