import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from full_scale.tasks.verifiers.compare import is_ordered, same_multiset, same_set

VALUES = (
    st.none() | st.integers(-3, 3) | st.sampled_from([0.5, 0.1, 2.0, float("inf")]) | st.sampled_from("ab")
)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), max_size=5))


def rows(*values):
    return [(value,) for value in values]


@pytest.mark.parametrize(
    ("gold", "predicted", "as_set", "as_bag", "as_list"),
    [
        ([], [], True, True, True),
        ([], rows(None), False, False, False),
        (rows(1, 2), rows(2, 1), True, True, False),
        (rows(1, 1, 2), rows(1, 2), True, False, False),
        (rows(1, 1, 2), rows(1, 2, 2), True, False, False),
        (rows(1, 2), rows(1, 2, 3), False, False, False),
        (rows(None), rows(None), True, True, True),
        (rows(None), rows(0), False, False, False),
        (rows(None), rows(""), False, False, False),
        (rows(1), rows(1.0), True, True, True),
        (rows(1), rows("1"), False, False, False),
        (rows("a"), rows(b"a"), False, False, False),
        (rows(0.1 + 0.2), rows(0.3), True, True, True),
        (rows(0.1), rows(0.1000001), False, False, False),
        (rows(2), rows(2 - 1e-12), True, True, True),
        (rows(0), rows(5e-17), True, True, True),
        (rows(10**10 + 1), rows(10**10 + 2), False, False, False),
        (rows(10**10 + 1), rows(float(10**10 + 2)), False, False, False),
        (rows(2**60), rows(2**60 + 1), False, False, False),
        (rows(1.5e17), rows(1.5e17 + 32), True, True, True),
        (rows(float("inf")), rows(float("inf")), True, True, True),
        (rows(float("inf")), rows(1e308), False, False, False),
        ([(1, 1)], [(1,)], False, False, False),
        ([(1, 1)], [(1, 1)], True, True, True),
        ([(1, 2)], [(2, 1)], False, True, True),
        ([(1, 2), (3, 4)], [(2, 1), (4, 3)], False, True, True),
        ([(1, 2), (3, 4)], [(4, 3), (2, 1)], False, True, False),
        ([(1, 2), (3, 4)], [(2, 3), (4, 1)], False, False, False),
        ([(1, 2), (2, 1)], [(1, 1), (2, 2)], False, False, False),
        ([("é", b"\x00")], [("é", b"\x00")], True, True, True),
    ],
)
def test_what_counts_as_the_same(gold, predicted, as_set, as_bag, as_list):
    for a, b in ((gold, predicted), (predicted, gold)):
        assert same_set(a, b) is as_set
        assert same_multiset(a, b, ordered=False) is as_bag
        assert same_multiset(a, b, ordered=True) is as_list


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_rows_and_of_columns(table, rng):
    shuffled = rng.sample(table, len(table))
    assert same_set(table, shuffled)
    assert same_set(table, shuffled + shuffled[:1])
    assert same_multiset(table, shuffled, ordered=False)
    order = rng.sample(range(len(table[0])), len(table[0])) if table else []
    permuted = [tuple(row[at] for at in order) for row in table]
    assert same_multiset(table, permuted, ordered=True)
    assert same_multiset(table, table + table[:1], ordered=False) is (not table)


@given(ROWS, st.floats(-1e-10, 1e-10))
def test_rounding_changes_nothing(table, by):
    rounded = [tuple(v * (1 + by) if isinstance(v, float) else v for v in row) for row in table]
    assert same_set(table, rounded)
    assert same_multiset(table, rounded, ordered=True)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=4), st.data())
def test_columns_match_exactly_if_some_permutation_does(gold, data):
    cells = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=len(gold), max_size=len(gold))
    predicted = data.draw(cells)
    brute = any(
        sorted(gold) == sorted(tuple(row[at] for at in order) for row in predicted)
        for order in itertools.permutations(range(2))
    )
    assert same_multiset(gold, predicted, ordered=False) is brute


def test_many_alike_columns_are_quickly_told_apart():
    rng = random.Random(0)
    gold = [tuple(rng.randrange(2) for _ in range(12)) for _ in range(40)]
    assert same_multiset(gold, [tuple(reversed(row)) for row in gold], ordered=False)
    other = [(1 - gold[0][0], *gold[0][1:]), *gold[1:]]
    assert not same_multiset(gold, other, ordered=False)
    assert not same_multiset([(1,) * 40 + (2,)], [(1,) * 40 + (3,)], ordered=False)


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("select a from t order\n  by a limit 1", True),
        ("SELECT a FROM t ORDER /* by */ -- really\n BY a", True),
        ("SELECT (SELECT b FROM u ORDER BY b LIMIT 1) FROM t", False),
        ("SELECT RANK() OVER (ORDER BY a) FROM t", False),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) ORDER BY a", True),
        ("SELECT 'order by' FROM t", False),
        ("SELECT 'it''s (' FROM t ORDER BY 1", True),
        ('SELECT "order by", [order by], `order by` FROM t -- order by', False),
        ("SELECT a FROM t /* ORDER BY a */", False),
        ("SELECT orders BY FROM reorder", False),
    ],
)
def test_only_the_query_s_own_order_counts(query, ordered):
    assert is_ordered(query) is ordered


def test_a_fraction_between_two_identifiers_does_not_make_them_one():
    first, second, between = 10**12, 10**12 + 1, 10**12 + 0.5
    assert not same_set([(first,), (between,)], [(second,), (between,)])
    assert same_set([(first,), (between,)], [(first + 1e-4,), (between,)])
