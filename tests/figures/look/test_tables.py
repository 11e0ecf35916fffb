from figures.look.tables import Table, written


def test_cells_in_words():
    assert [written(cell) for cell in ("a", 0.123456, 16, float("inf"), None)] == [
        "a",
        "0.1235",
        "16",
        "inf",
        "–",
    ]


def test_a_table_of_rows():
    table = Table.of(["x", "y"], [[1, "a"], (2.0, None)])
    assert table.head == ("x", "y")
    assert table.rows == ((1, "a"), (2.0, None))
