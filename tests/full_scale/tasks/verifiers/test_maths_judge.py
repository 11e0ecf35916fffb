import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.maths_answers import OTHER, PAIRS, SAME

from full_scale.tasks.verifiers import maths_judge
from full_scale.tasks.verifiers.maths_judge import judge, plain, word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"1\,000", "1000"),
        ("12 345 678", "12345678"),
        ("1 23", "1 23"),
        ("1.2e-5", r"1.2\times 10^{-5}"),
        ("7.e3", r"7\times 10^{3}"),
        ("2e", "2e"),
        ("1e999999999", "1e999999999"),
        (r"0.\overline{3}", r"\frac{1}{3}"),
        (r"0.\dot{1}4285\dot{7}", r"\frac{1}{7}"),
        (r"1.2\overline{3}", r"\frac{37}{30}"),
        ("7.", "7"),
        ("7.5", "7.5"),
        ("(7., 8.)", "(7, 8)"),
        ("2 1/2", r"2\frac{1}{2}"),
        ("\uff11\uff12", "12"),
        ("\u0661\u066b\u0662", "1.2"),
        ("x\u00b2", "x^{2}"),
    ],
)
def test_numbers_in_one_notation(text, expected):
    assert plain(text) == expected


def test_words_are_words_and_products_are_not():
    assert word(r"\text{ Tuesday }") == word("tuesday.") == "tuesday"
    assert word("abc") is None
    assert word("two words") is None
    assert word("No") == "no"


@given(st.integers(0, 10**12), st.sampled_from(["\\,", " ", "~", "\u202f"]))
def test_grouped_digits_are_the_number(number, space):
    grouped = f"{number:,}".replace(",", space)
    assert plain(grouped) == str(number)


@given(st.text(max_size=60))
def test_any_text_is_read_and_once_is_enough_for_plain_ones(text):
    assert isinstance(plain(text), str)
    assert plain("x + 1") == "x + 1"


def outcome(gold, answer, seconds=5):
    return judge({"gold": gold, "answer": answer, "seconds": seconds})["outcome"]


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        # Boxed.
        ("42", r"So it is \boxed{42}.", "correct"),
        (r"\frac{1}{2}", r"\boxed{0.5}", "correct"),
        (r"\frac{1}{2}", r"\boxed{\dfrac12}", "correct"),
        ("2", r"\boxed{\sqrt{4}}", "correct"),
        ("x+1", r"\boxed{1 + x}", "correct"),
        ("(1,2)", r"\boxed{(1, 2)}", "correct"),
        ("(1,2)", r"\boxed{(2, 1)}", "wrong"),
        (r"\{1,2\}", r"\boxed{\{2, 1\}}", "correct"),
        (r"\text{Tuesday}", r"\boxed{\text{Tuesday}}", "correct"),
        (r"\text{(C)}", r"\boxed{C}", "correct"),
        ("1000", r"\boxed{1,000}", "correct"),
        ("42", r"\boxed{43}", "wrong"),
        ("x^2", r"\boxed{y^2}", "wrong"),
        # Only the last box counts: a list of guesses is none.
        ("3", r"first \boxed{3}, no, \boxed{4}", "wrong"),
        ("3", r"\boxed{3} and then \boxed{never closed 4", "correct"),
        ("3", r"The answer is 3. \boxed{}", "no_answer"),
        ("3", r"\boxed{3, 4}", "wrong"),
        # Tagged and plain.
        ("1000", "so\n#### 1,000", "correct"),
        ("1000", "so 7\n#### 1,001", "wrong"),
        ("42", "The final answer is 42.", "correct"),
        ("x+1", "The answer is $1+x$.", "correct"),
        ("42", "Who knows?", "no_answer"),
        ("42", "", "no_answer"),
        # Hostile.
        ("42", r"\boxed{__import__('os').system('true')}", "wrong"),
        ("42", r"\boxed{\input{/etc/passwd}}", "wrong"),
        ("42", "\\boxed{\x00\ud800}", "wrong"),
        ("3", "1 " * 10_000 + r"\boxed{3}", "correct"),
    ],
)
def test_answers(gold, answer, expected):
    assert outcome(gold, answer) == expected


def test_a_gold_answer_that_is_none_is_the_data_s_fault():
    assert judge({"gold": "", "answer": "3", "seconds": 5})["outcome"] == "gold_error"


def test_a_step_that_runs_out_of_time_is_told_from_one_that_finds_nothing(monkeypatch):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(maths_judge.time, "monotonic", lambda: next(clock))
    assert outcome("3", "nothing") == "timeout"
    assert outcome("3", r"\boxed{4}") == "timeout"
    assert outcome("3", r"\boxed{3}") == "correct"


def of_pair(gold, answer):
    return outcome(gold, rf"\boxed{{{answer}}}") == "correct"


@pytest.mark.slow
def test_the_table_of_pairs():
    found = {(gold, answer): of_pair(gold, answer) for gold, answer, _ in PAIRS}
    assert [pair for pair in PAIRS if found[pair[:2]] != pair[2]] == []
    assert len(found) == len(PAIRS) >= 200


@pytest.mark.parametrize(
    ("gold", "answer", "verdict"),
    [
        ("1000", r"1\,000", SAME),
        ("1000", "1e3", SAME),
        ("1/3", r"0.\overline{3}", SAME),
        ("1/3", "0.3333333333", OTHER),
        ("-1", r"e^{i\pi}", SAME),
        ("(0,3)", "0<x<3", SAME),
        ("evil", "live", OTHER),
    ],
)
def test_a_pair_of_each_kind(gold, answer, verdict):
    assert of_pair(gold, answer) == verdict
