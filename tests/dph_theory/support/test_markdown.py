from dph_theory.support.markdown import escaped, table


def test_marks_are_shown_as_they_are():
    assert escaped(r"a_b|c \d *e* `f` <g>") == r"a\_b\|c \\d \*e\* \`f\` \<g>"


def test_a_table_has_a_line_a_row_and_escapes_its_cells():
    assert table(("x", "y"), [("a|b", "1")]) == "| x | y |\n| --- | --- |\n| a\\|b | 1 |"
