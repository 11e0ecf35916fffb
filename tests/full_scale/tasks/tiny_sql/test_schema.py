import pytest

from full_scale.tasks.tiny_sql.schema import domains


@pytest.mark.parametrize(("count", "tables"), [(3, 2), (1, 1), (7, 9)])
def test_tables_have_names_of_their_own_and_different_columns(count, tables):
    found = domains(count, tables)
    assert len({domain.name for domain in found}) == count
    names = [table.name for domain in found for table in domain.tables]
    assert len(set(names)) == len(names) == count * tables
    for domain in found:
        for table in domain.tables:
            assert len(set(table.columns)) == 4
            assert table.columns == (table.thing, *(name for name, _ in table.categories), table.number)


def test_a_larger_task_begins_with_the_smaller_one():
    assert domains(4, 2)[:2] == domains(2, 2)


def test_databases_are_named_by_their_domain():
    first, second = domains(2, 1)
    assert first.database(3) != second.database(3)
    assert first.database(3).startswith(first.name)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0)])
def test_bad_sizes(sizes):
    with pytest.raises(ValueError, match="at least 1"):
        domains(*sizes)
