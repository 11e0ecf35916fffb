from support.small_confrontation import small_confrontation

from figures.confront.tables import shortened, tables


def test_every_table_has_the_numbers_of_its_confrontation():
    found = small_confrontation()
    made = {table.title: table for table in tables(found)}
    drawn = made["Pass@k"]
    assert [row[0] for row in drawn.rows] == [1, 2, 4, 8, 16]
    assert drawn.rows[-1][1] == found.curves.base[-1]
    assert {row[-1] for row in drawn.rows} <= {"better", "worse", "not told"}
    assert len(made["laws of training, best first"].rows) == len(found.laws)
    assert made[f"{found.fell.count} prompts that fell"].rows[0][0] == found.fell.prompts[0].id
    assert "what a difference of 0.1 in Pass@4 takes (power 0.8)" in made
    assert all(len(row) == len(table.head) for table in made.values() for row in table.rows)


def test_long_ids_take_one_line():
    assert shortened("a\nb") == "a b"
    assert len(shortened("x" * 200)) == 60
