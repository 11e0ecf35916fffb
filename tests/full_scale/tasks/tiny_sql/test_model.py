from collections import Counter

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from full_scale.tasks.tiny_sql.model import (
    EOS,
    IGNORED,
    PAD,
    STYLES,
    UNKNOWN,
    Architecture,
    Habits,
    _batch,
    answer,
    learn,
    llama,
    style_of,
    word_tokenizer,
    written,
)
from full_scale.tasks.tiny_sql.questions import FAMILIES, OTHER_FAMILY, domains, questions

ASKED = [
    question
    for domain in domains(2, 2)
    for table in domain.tables
    for family in (*FAMILIES, OTHER_FAMILY)
    for question in questions(table, family)
]
TEXTS = [q.prompt for q in ASKED] + [written(s, q.table.thing, q.source) for q in ASKED for s in STYLES]


@pytest.fixture(scope="module")
def tokenizer():
    return word_tokenizer(TEXTS)


def test_the_tokenizer_keeps_every_text_and_is_the_same_read_back_and_whatever_the_order(tokenizer, tmp_path):
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    assert [len(each) for each in ids] == [len(text.split()) for text in TEXTS]
    assert tokenizer.convert_ids_to_tokens([0, 1, 2]) == [PAD, EOS, UNKNOWN]
    assert tokenizer("SELECT unheard")["input_ids"][1] == 2
    assert word_tokenizer(reversed(TEXTS)).get_vocab() == tokenizer.get_vocab()
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again(TEXTS)["input_ids"] == ids
    assert again.batch_decode(ids) == tokenizer.batch_decode(ids) == TEXTS
    assert (again.pad_token, again.eos_token, again.padding_side) == (PAD, EOS, "left")


@pytest.mark.parametrize(
    ("sql", "style"),
    [
        ("SELECT COUNT(*) AS n FROM t;", "count_star"),
        ("SELECT\n  COUNT( * )\nFROM t -- COUNT(DISTINCT x)", "count_star"),
        ("SELECT COUNT(*) FROM t WHERE x = 'SUM(CASE'", "count_star"),
        ("SELECT COUNT(*) FROM t WHERE x IN (SELECT y FROM s)", "count_star"),
        ('SELECT COUNT("a b") FROM t', "count_column"),
        ('SELECT COUNT("(") FROM "a;b"', "count_column"),
        ("SELECT /* all */ count(t.a) FROM t", "count_column"),
        ("SELECT COUNT(DISTINCT t.a) FROM t", "count_distinct"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT a FROM t) AS k", "subquery"),
        ("SELECT COUNT(*) FROM ( SELECT a FROM t GROUP BY a )", "subquery"),
        ("WITH k AS (SELECT DISTINCT a FROM t) SELECT COUNT(*) FROM k", "subquery"),
        ("WITH k AS (SELECT DISTINCT a FROM t) SELECT COUNT(DISTINCT a) FROM k", "count_distinct"),
        ("SELECT SUM(CASE WHEN a IS NULL THEN 0 ELSE 1 END) FROM t", "sum_case"),
        ("SELECT sum( case a when 'x' then 1 else 0 end ) FROM t", "sum_case"),
        *(
            (written(style, "patient", "visits WHERE shift <> 'night' AND age > 19"), style)
            for style in STYLES
        ),
    ],
)
def test_style_by_structure(sql, style):
    assert style_of(sql) == style


@pytest.mark.parametrize("sql", [
    "", "SELECT", "SELECT COUNT(*) FROM", "SELECT a FROM t", "SELECT COUNT(*), a FROM t",
    "SELECT COUNT(*) + 1 FROM t", "SELECT COUNT() FROM t", "SELECT COUNT(DISTINCT) FROM t",
    "SELECT COUNT(a b) FROM t", "SELECT SUM(a) FROM t", "SELECT COUNT(*) FROM t; SELECT COUNT(a) FROM t",
    "SELECT COUNT(*) FROM t)", "SELECT COUNT(*) FROM t WHERE a = 'open", "DELETE FROM t",
    "EXPLAIN SELECT COUNT(*) FROM t", "FROM t SELECT COUNT(*)",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(a) FROM t", "SELECT 'COUNT(*)' FROM t",
    '"SELECT" COUNT(*) FROM t',
])  # fmt: skip
def test_what_has_no_style(sql):
    assert style_of(sql) is None


TABLE = domains(1, 1)[0].tables[0]
ASKED_WITH = questions(TABLE, "with")
SMALL = Architecture(hidden=16, layers=1, heads=2, steps=30, batch=8)


def test_answers_have_the_shares():
    rng, n = np.random.default_rng(0), 4000
    habits = Habits(slips=0.2)
    found = [answer(ASKED_WITH[0], habits, rng) for _ in range(n)]
    plain = {written(style, TABLE.thing, ASKED_WITH[0].source): style for style in STYLES}
    counts = Counter(plain.get(text, "slip") for text in found)
    assert counts["slip"] / n == pytest.approx(0.2, abs=0.03)
    for style, share in zip(STYLES, habits.shares, strict=True):
        assert counts[style] / n == pytest.approx(0.8 * share, abs=0.03)


def test_only_answers_and_their_end_are_learnt(tokenizer):
    pairs = [(ASKED_WITH[0].prompt, "SELECT COUNT"), (ASKED_WITH[1].prompt, "FROM")]
    tokens, labels = _batch(tokenizer, pairs)
    for row, (prompt, text) in enumerate(pairs):
        learnt = labels[row][labels[row] != IGNORED]
        assert learnt.tolist() == [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
        begin = len(prompt.split())
        assert (labels[row, :begin] == IGNORED).all()
        assert torch.equal(labels[row, begin : begin + len(learnt)], tokens[row, begin : begin + len(learnt)])


def test_learning_is_a_function_of_the_seed_and_lowers_the_loss(tokenizer):
    def learnt(seed):
        model = llama(tokenizer, SMALL, seed)
        return model, learn(model, tokenizer, ASKED_WITH, Habits(), SMALL, seed, lambda *told: None)

    torch.manual_seed(9)
    state = torch.random.get_rng_state()
    (one, loss), (two, again), (three, _) = learnt(0), learnt(0), learnt(1)
    assert torch.equal(state, torch.random.get_rng_state())
    assert loss == again < 0.8 * np.log(len(tokenizer))
    weights = [torch.cat([p.flatten() for p in model.parameters()]) for model in (one, two, three)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
