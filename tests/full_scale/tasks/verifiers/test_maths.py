import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.maths_answers import PAIRS

from full_scale.tasks.protocol import Prompt
from full_scale.tasks.verifiers import maths_judge
from full_scale.tasks.verifiers.maths import MathsVerifier
from full_scale.tasks.verifiers.maths_judge import judge, plain


@pytest.mark.parametrize(("text", "expected"), [
    ("1 23", "1 23"), ("1.2e-5", r"1.2\times 10^{-5}"), ("7.e3", r"7\times 10^{3}"), ("2e", "2e"),
    ("1e999999999", "1e999999999"), (r"0.\overline{3}", r"\frac{1}{3}"),
    (r"0.\dot{1}4285\dot{7}", r"\frac{1}{7}"), (r"1.2\overline{3}", r"\frac{37}{30}"), ("(7., 8.)", "(7, 8)"),
    ("2 1/2", r"2\frac{1}{2}"), ("\uff11\uff12", "12"), ("\u0661\u066b\u0662", "1.2"), ("x\u00b2", "x^{2}"),
    ("√2 + ∛8 + √(x+1)", r"\sqrt{2} + \sqrt[3]{8} + \sqrt{x+1}"), ("2½", r"2\frac{1}{2}"),
])  # fmt: skip
def test_numbers_in_one_notation(text, expected):
    assert plain(text) == expected


@given(st.integers(0, 10**12), st.sampled_from(["\\,", " ", "~", "\u202f"]))
def test_grouped_digits_are_the_number(number, space):
    assert plain(f"{number:,}".replace(",", space)) == str(number)


@given(st.text(max_size=60))
def test_any_text_is_read(text):
    assert isinstance(plain(text), str)


def outcome(gold, answer):
    return judge({"gold": gold, "answer": answer, "seconds": 5})["outcome"]


@pytest.mark.parametrize(("gold", "answer", "expected"), [
    # Boxed.
    ("42", r"So it is \boxed{42}.", "correct"), (r"\frac{1}{2}", r"\boxed{0.5}", "correct"),
    ("2", r"\boxed{\sqrt{4}}", "correct"), ("x+1", r"\boxed{1 + x}", "correct"),
    ("(1,2)", r"\boxed{(2, 1)}", "wrong"), (r"\{1,2\}", r"\boxed{\{2, 1\}}", "correct"),
    ("(0,3)", r"\boxed{0<x<3}", "correct"), ("1000", r"\boxed{1e3}", "correct"),
    ("1/3", r"\boxed{0.\overline{3}}", "correct"),
    # Twelve places must agree.
    ("1/3", r"\boxed{0.33333333333}", "wrong"), ("1/3", r"\boxed{0.333333333333}", "correct"),
    ("-1", r"\boxed{e^{i\pi}}", "correct"), ("42", r"\boxed{43}", "wrong"),
    # Words are compared as they are, letters are multiplied.
    (r"\text{Tuesday}", r"\boxed{tuesday.}", "correct"), (r"\text{(C)}", r"\boxed{C}", "correct"),
    ("evil", r"\boxed{live}", "wrong"), ("ab", r"\boxed{ba}", "correct"), ("no", r"\boxed{No}", "correct"),
    # Only the last box counts: a list of guesses is none.
    ("3", r"first \boxed{3}, no, \boxed{4}", "wrong"),
    ("3", r"\boxed{3} and then \boxed{never closed 4", "correct"),
    ("3", r"The answer is 3. \boxed{}", "no_answer"), ("3", r"\boxed{3, 4}", "wrong"),
    # One answer, not two; each side of an equation; per cent are hundredths.
    ("42", r"\boxed{42} #### 41", "wrong"), ("42", "#### 41\n\\boxed{42}\n#### Check\nIt is.", "correct"),
    ("42", r"\boxed{42} <answer>41</answer>", "wrong"), ("42", r"<answer>\boxed{42}</answer>", "correct"),
    ("42", r"\boxed{41=42}", "wrong"), ("42", r"\boxed{x=41=42}", "wrong"),
    ("42", r"\boxed{6\cdot 7=42}", "correct"), ("42", r"\boxed{f(3)=42}", "correct"),
    ("x=42", r"\boxed{42}", "correct"), ("42", r"\boxed{42\%}", "wrong"),
    ("0.42", r"\boxed{42\%}", "correct"), ("42", r"\boxed{4200\%}", "correct"),
    (r"42\%", r"\boxed{4200\%}", "wrong"), (r"42\%", r"\boxed{42}", "correct"),
    ("42", rf"\boxed{{{'9' * 5000}}}", "wrong"), ("42", rf"\boxed{{1e{'9' * 5000}}}", "wrong"),
    ("42", rf"\boxed{{0.\overline{{{'9' * 5000}}}}}", "wrong"),
    # Tagged and plain.
    ("1000", "so\n#### 1,000", "correct"), ("1000", "so 7\n#### 1,001", "wrong"),
    ("42", "The final answer is 42.", "correct"), ("x+1", "The answer is $1+x$.", "correct"),
    ("42", "Who knows?", "no_answer"), ("42", "", "no_answer"),
    # Hostile.
    ("42", r"\boxed{__import__('os').system('true')}", "wrong"),
    ("42", r"\boxed{\input{/etc/passwd}}", "wrong"), ("42", "\\boxed{\x00\ud800}", "wrong"),
    ("3", "1 " * 10_000 + r"\boxed{3}", "correct"),
    # A gold answer that is none is the data's fault.
    ("", "3", "gold_error"),
])  # fmt: skip
def test_answers(gold, answer, expected):
    assert outcome(gold, answer) == expected


@pytest.mark.slow
def test_the_table_of_pairs():
    # A tag marks an answer by itself.
    said = [answer if "<answer>" in answer else rf"\boxed{{{answer}}}" for _, answer, _ in PAIRS]
    found = [
        (gold, answer, outcome(gold, text) == "correct")
        for (gold, answer, _), text in zip(PAIRS, said, strict=True)
    ]
    assert found == PAIRS
    assert len({pair[:2] for pair in PAIRS}) == len(PAIRS) >= 200


def test_a_step_that_runs_out_of_time_is_told_from_one_that_finds_nothing(monkeypatch):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(maths_judge.time, "monotonic", lambda: next(clock))
    found = [outcome("3", answer) for answer in ("nothing", r"\boxed{4}", r"\boxed{3}")]
    assert found == ["timeout", "timeout", "correct"]


def example(answer="42"):
    return Prompt("e", "What is it?", {"answer": answer})


def test_answers_are_scored_in_order_and_what_never_ends_holds_nobody_up():
    """Off the main thread too: math-verify's own time limit is a signal, which no other thread may set."""
    endless = (
        r"\boxed{9^{9^{9^{9^9}}}}",
        r"\boxed{10000!!!!}",
        r"\boxed{" + "(" * 600 + "1" + ")" * 600 + "}",
    )
    answers = [r"\boxed{42}", r"\boxed{41}", "none", *endless, r"\boxed{42}", r"again \boxed{42}"]
    found = []
    with MathsVerifier(seconds=1, workers=2) as verifier:
        batch = [example()] * len(answers), answers
        thread = threading.Thread(target=lambda: found.extend(verifier(*batch)))
        thread.start()
        thread.join()
    assert [score.correct for score in found] == [True, *[False] * 5, True, True]
    outcomes = [score.outcome for score in found]
    assert outcomes[:3] == ["correct", "wrong", "no_answer"]
    assert {*outcomes[3:6]} <= {"timeout", "crash", "memory", "wrong", "no_answer"}


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="seconds=0"):
        MathsVerifier(seconds=0)
    for answer in (None, " ", 42):
        with MathsVerifier() as verifier, pytest.raises(ValueError, match=r"'e'.*answer"):
            verifier([example(answer)], ["42"])
