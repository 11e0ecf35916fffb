from dph_theory.support.markdown import escaped


def test_marks_are_shown_as_they_are():
    assert escaped(r"a_b|c \d *e* `f` <g>") == r"a\_b\|c \\d \*e\* \`f\` \<g>"
