from collections import Counter

import numpy as np
import pytest
import torch

from full_scale.tasks.tiny_sql.model import IGNORED, Architecture, Habits, _batch, answer, learn, llama
from full_scale.tasks.tiny_sql.questions import questions
from full_scale.tasks.tiny_sql.schema import domains
from full_scale.tasks.tiny_sql.styles import STYLES, style_of, written
from full_scale.tasks.tiny_sql.tokenizer import word_tokenizer

TABLE = domains(1, 1)[0].tables[0]
ASKED = questions(TABLE, "with")
TEXTS = [q.prompt for q in ASKED] + [written(s, TABLE.thing, q.source) for q in ASKED for s in STYLES]
SMALL = Architecture(hidden=16, layers=1, heads=2, steps=30, batch=8)


def silent(stage, done, total):
    pass


@pytest.fixture(scope="module")
def tokenizer():
    return word_tokenizer(TEXTS)


def test_answers_have_the_shares(tokenizer):
    rng, n = np.random.default_rng(0), 4000
    habits = Habits(slips=0.2)
    found = [answer(ASKED[0], habits, rng) for _ in range(n)]
    plain = {written(style, TABLE.thing, ASKED[0].source): style for style in STYLES}
    counts = Counter(plain.get(text, "slip") for text in found)
    assert counts["slip"] / n == pytest.approx(0.2, abs=0.03)
    for style, share in zip(STYLES, habits.shares, strict=True):
        assert counts[style] / n == pytest.approx(0.8 * share, abs=0.03)


def test_shares_are_checked():
    with pytest.raises(ValueError, match="sum to one"):
        Habits(count_star=0.5)
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        Habits(slips=1.0)


def test_only_answers_and_their_end_are_learnt(tokenizer):
    pairs = [(ASKED[0].prompt, "SELECT COUNT"), (ASKED[1].prompt, "FROM")]
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
        return model, learn(model, tokenizer, ASKED, Habits(), SMALL, seed, silent)

    torch.manual_seed(9)
    state = torch.random.get_rng_state()
    (one, loss), (two, again), (three, _) = learnt(0), learnt(0), learnt(1)
    assert torch.equal(state, torch.random.get_rng_state())
    assert loss == again < 0.8 * np.log(len(tokenizer))
    weights = [torch.cat([p.flatten() for p in model.parameters()]) for model in (one, two, three)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_sizes_are_options(tokenizer):
    small, large = (
        llama(tokenizer, Architecture(hidden=h, layers=n, heads=2), 0) for h, n in ((16, 1), (32, 3))
    )
    assert large.num_parameters() > 4 * small.num_parameters()
    assert large.config.num_hidden_layers == 3
    assert large.config.eos_token_id == tokenizer.eos_token_id


def test_styles_of_right_answers_are_read_back():
    assert {style_of(written(s, TABLE.thing, ASKED[0].source)) for s in STYLES} == set(STYLES)
