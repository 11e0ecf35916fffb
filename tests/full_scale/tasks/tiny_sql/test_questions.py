import numpy as np
import pytest

from full_scale.tasks.tiny_sql.databases import STATES
from full_scale.tasks.tiny_sql.questions import FAMILIES, OTHER_FAMILY, questions, slip
from full_scale.tasks.tiny_sql.schema import domains
from full_scale.tasks.tiny_sql.styles import STYLES, written

TABLE = domains(1, 1)[0].tables[0]


@pytest.mark.parametrize(("family", "count"), [("with", 6), ("without", 6), ("both", 9), ("above", 8)])
def test_questions_of_a_family_are_different(family, count):
    asked = questions(TABLE, family)
    assert len(asked) == count
    assert len({q.prompt for q in asked}) == len({q.where for q in asked}) == count


def test_a_prompt_shows_columns_and_question_only():
    (first, *_) = questions(TABLE, "both")
    assert first.prompt == (
        "table visits ( patient , region , shift , age ) how many patient in visits have region 'north' "
        "and shift 'morning' ? sql"
    )
    assert first.source == "visits WHERE region = 'north' AND shift = 'morning'"


def test_the_kept_out_family_is_no_family_of_the_others():
    assert OTHER_FAMILY not in FAMILIES
    others = {q.where for family in FAMILIES for q in questions(TABLE, family)}
    assert not others & {q.where for q in questions(TABLE, OTHER_FAMILY)}


def test_gold_follows_the_state():
    (first, *_) = questions(TABLE, "with")
    assert len({first.gold(state) for state in STATES}) == 5
    assert first.gold(STATES[0]) == "SELECT COUNT ( * ) FROM visits WHERE region = 'north'"


def test_slips_are_other_questions_or_lost_words():
    rng = np.random.default_rng(0)
    (first, *_) = questions(TABLE, "with")
    sql = written("count_star", TABLE.thing, first.source)
    others = {written("count_star", TABLE.thing, q.source) for q in questions(TABLE, "with")} - {sql}
    lost = {" ".join(w for i, w in enumerate(sql.split()) if i != gone) for gone in range(len(sql.split()))}
    found = [slip(first, sql, rng) for _ in range(400)]
    assert set(found) == others | lost
    assert 0.4 < np.mean([answer in others for answer in found]) < 0.6


def test_a_slip_keeps_the_style_unless_a_word_is_lost():
    for style in STYLES:
        for question in questions(TABLE, "both"):
            sql = written(style, TABLE.thing, question.source)
            changed = slip(question, sql, np.random.default_rng(1))
            assert changed != sql
