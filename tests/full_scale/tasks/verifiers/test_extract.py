import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from full_scale.tasks.verifiers.extract import last_boxed, last_sql, tagged


@pytest.mark.parametrize(("completion", "query"), [
    ("```sql\nSELECT 1\n```", "SELECT 1"),
    ("First ```sql\nSELECT 1\n``` no, rather\n```sql\nSELECT 2\n```\nDone.", "SELECT 2"),
    ("```sqlite\nSELECT 1\n```", "SELECT 1"), ("```\nSELECT 1\n```", "SELECT 1"),
    ("```sql\nSELECT 1\n```\n```\n1 row\n```", "SELECT 1"),
    ("```sql\nSELECT 1\n```\n```python\nprint(2)\n```", "SELECT 1"),
    ("```sql\nSELECT 1\n```\n```sql\n\n```", "SELECT 1"), ("```sql\nSELECT 1", "SELECT 1"),
    ("Use ```sql SELECT 1``` or ``` SELECT 2 ```", "SELECT 1"), ("Use ```SELECT 1```.", "SELECT 1"),
    ("```sqlx\nSELECT 1\n```", None), ("SELECT 1", "SELECT 1"),
    ("  with a as (select 1)\nselect * from a\n", "with a as (select 1)\nselect * from a"),
    ("The answer:\nSELECT 1\nFROM t", "SELECT 1\nFROM t"), ("```python\nprint(2)\n```\nSELECT 1", None),
    ("DROP TABLE t", None), ("", None),
])  # fmt: skip
def test_the_last_query(completion, query):
    assert last_sql(completion) == query


@given(st.text())
def test_any_text_has_at_most_a_query_and_a_fenced_one_is_found_whole(text):
    query = last_sql(text)
    assert query is None or (query and query in text)
    if "```" not in text and text.strip():
        assert last_sql(f"Why?\n```sql\n{text}\n```") == text.strip()


@pytest.mark.parametrize(("text", "answer"), [
    (r"\boxed{1} or \boxed{2}", "2"), (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"), (r"\boxed {x}", "x"),
    (r"\fbox{7}", "7"), (r"\boxed{\{1, 2\}}", r"\{1, 2\}"), (r"\boxed{1} then \boxed{never closed", "1"),
    (r"\boxed{\boxed{3}}", "3"), (r"\boxed{}", ""), (r"\boxed{a \\ b \\}", r"a \\ b \\"),
    (r"} { \boxed{1} }", "1"), (r"{\boxed{1", None), ("", None),
])  # fmt: skip
def test_the_last_box(text, answer):
    assert last_boxed(text) == answer


@pytest.mark.parametrize("unit", ["```", "```\n", "\n", " \n", "select", "####", "\\boxed{", "{", "\\"])
def test_no_text_takes_long(unit):
    begun = time.process_time()
    for find in (last_sql, last_boxed, tagged):
        find(unit * 20_000)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [("so\n#### 1,000", "1,000"), ("#### 1\n#### -2.5 \n", "-2.5"), ("### 3", None), ("####\n", None)],
)
def test_the_tagged_answer(text, answer):
    assert tagged(text) == answer
