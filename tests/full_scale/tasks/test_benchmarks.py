import pytest
from support.sql_databases import SHOP, bird_folder, make_database, write_json, write_jsonl

from full_scale.tasks.benchmarks import ExampleSource, examples, read_rows, schema_text


@pytest.mark.parametrize(("name", "text", "found"), [
    ("a.json", '[{"q": "one"}, {"q": "zwölf"}]', {"row 0": "one", "row 1": "zwölf"}),
    # Blank lines are no rows; only a newline ends one.
    ("a.jsonl", '\n{"q": "one"}\n\n{"q": "a\u2028b\x85c"}\n', {"line 2": "one", "line 4": "a\u2028b\x85c"}),
])  # fmt: skip
def test_rows_of_a_file_know_where_they_stand(tmp_path, name, text, found):
    (tmp_path / name).write_text(text, encoding="utf-8")
    rows = read_rows(str(tmp_path / name))
    assert {row.where: row.text("q") for row in rows} == {
        f"{tmp_path / name} {where}": said for where, said in found.items()
    }


@pytest.mark.parametrize(("name", "text", "says"), [
    ("a.json", "{", "no valid JSON"), ("a.json", "{}", "no list of rows, but a dict"),
    ("a.json", "[1]", "row 0 is no JSON object, but a int"), ("a.json", "[]", "at least one row"),
    ("a.json", b'["\xff"]', r"a\.json.*UTF-8"), ("a.jsonl", "", "at least one row"),
    ("a.jsonl", '{"a": 1}\n{"a":\n', "line 2 is no valid JSON"),
    ("a.jsonl", "[]\n", "line 1 is no JSON object"),
    ("a.jsonl", '{"a": 1}\n{"a": ["b\\ud800"]}\n', r"a\.jsonl line 2 holds '\\ud800'"),
    ("a.json", '[{"a": {"\\udc00": 1}}]', r"a\.json row 0 holds '\\udc00'"),
    ("a.jsonl", f'{{"a": {"9" * 5000}}}\n', "line 1 is no valid JSON.*digits"),
    ("a.jsonl", "[" * 99_999, "line 1 is no valid JSON"),
    ("a.txt", "a,b\n", "a JSON, JSONL, CSV or Parquet file"),
    ("absent.json", None, "dataset; there is no such path"),
])  # fmt: skip
def test_a_broken_file_says_where(tmp_path, name, text, says):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=says):
        read_rows(str(tmp_path / name))


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_folder_may_be_a_dataset(tmp_path, monkeypatch, kind):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows, folder = [{"question": "one"}, {"question": "zwölf"}], tmp_path / "set"
    folder.mkdir()
    for split in ("train", "test"):
        file = folder / f"{split}.{kind}"
        datasets.Dataset.from_list(rows).to_parquet(file) if kind == "parquet" else write_jsonl(file, rows)
    found = read_rows(str(folder), files=("train.json",), split="test")
    assert [row.values for row in found] == rows
    assert found[1].where == f"{folder} (test) row 1"
    for name, says in ((str(folder), "nosuch"), ("nobody/nothing", "JSON, JSONL.*'train.json'.*dataset")):
        with pytest.raises(ValueError, match=f"{name}.*{says}"):
            read_rows(name, files=("train.json",), split="nosuch")


@pytest.fixture(scope="module")
def bird(tmp_path_factory):
    return bird_folder(tmp_path_factory.mktemp("bird"))


def test_bird_as_it_is_published(bird):
    first, second = examples(ExampleSource("bird", str(bird)), "train")
    database = bird / "train" / "train_databases" / "shop" / "shop.sqlite"
    assert first.id == "train/0"
    assert first.reference == {
        "verifier": "sql",
        "match": "bird",
        "database": str(database.resolve()),
        "query": "SELECT COUNT(*) FROM item WHERE name = 'pen'",
    }
    for shown in (
        "CREATE TABLE item(id INTEGER",
        "How many pens?",
        "External knowledge: a pen is named 'pen'",
    ):
        assert shown in first.prompt
    assert "External knowledge: none" in second.prompt


def test_a_file_and_its_databases_may_be_named_alone(bird, tmp_path):
    row = {"db_id": "shop", "question": "q", "SQL": "SELECT 1"}
    file = write_json(tmp_path / "mine.json", [row] * 3)
    source = ExampleSource("bird", str(file), str(bird / "train" / "train_databases"), limit=2)
    assert [example.id for example in examples(source, "train")] == ["train/0", "train/1"]
    make_database(tmp_path / "shop" / "shop.sqlite")
    assert len(examples(ExampleSource("bird", str(file)), "train")) == 3


def test_the_schema_is_what_a_reader_needs(tmp_path):
    counter = "CREATE TABLE counter(a INTEGER PRIMARY KEY AUTOINCREMENT);"
    statements = schema_text(make_database(tmp_path / "d.sqlite", SHOP + counter)).splitlines()
    assert [line.split("(")[0] for line in statements if line.startswith("CREATE")] == [
        "CREATE TABLE item",
        "CREATE TABLE empty",
        "CREATE INDEX by_name ON item",
        "CREATE VIEW cheap AS SELECT name FROM item WHERE price < 1;",
        "CREATE TABLE counter",
    ]
    assert "sqlite_sequence" not in "".join(statements)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"problem": "1+1?", "answer": "2"}, "2"),
        ({"question": "1+1?", "answer": "One and one.\n#### 1,002"}, "1,002"),
        ({"problem": "1+1?", "solution": r"It is $1+1 = \boxed{2}$."}, "2"),
        ({"prompt": "1+1?", "answer": 2}, "2"),
        # Braces in questions are only text.
        ({"question": r"\frac{1}{2} {x}?", "answer": r"\frac{4}{2}"}, r"\frac{4}{2}"),
        ({"problem": "1+1?", "answer": "2", "solution": r"\boxed{3}"}, "2"),
    ],
)
def test_maths_in_its_usual_fields(tmp_path, row, answer):
    (example,) = examples(ExampleSource("maths", str(write_jsonl(tmp_path / "m.jsonl", [row]))), "train")
    assert example.reference == {"verifier": "maths", "answer": answer}
    question, rest = next(iter(row.values())), r"please reason step by step, and put your final answer"
    assert example.prompt.lower() == f"{question}\n\n{rest} within \\boxed{{}}."


TURNS = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "2+2?"}]
TRUTH = {"db_id": "shop/shop.sqlite", "gold_sql": "SELECT 1", "cmp_method": "spider"}


def release(**changed):
    return {"data_source": "sql", "prompt": TURNS[1:], "reward_model": {"ground_truth": TRUTH | changed}}


def test_any_dataset_with_prompts_and_answers(tmp_path):
    rows = [{"ask": TURNS, "say": "so #### 4"}, {"ask": "1+1?", "say": "2"}]
    named = {"data": str(write_jsonl(tmp_path / "rows.jsonl", rows)), "question": "ask", "answer": "say"}
    first, second = examples(ExampleSource("dataset", **named), "train")
    assert (first.prompt, first.turns) == ("system: be brief\n\nuser: 2+2?", tuple(TURNS))
    assert (second.prompt, second.turns) == ("1+1?", ())
    assert (first.reference["answer"], second.reference["answer"]) == ("4", "2")
    # With a template there are no turns; maths have their fields named alike.
    first, _ = examples(ExampleSource("dataset", **named, template="{question} {{=}}"), "train")
    assert (first.prompt, first.turns) == ("system: be brief\n\nuser: 2+2? {=}", ())
    rows = [{"question": "no", "answer": "0", **rows[1]}]
    named["data"] = str(write_jsonl(tmp_path / "maths.jsonl", rows))
    (only,) = examples(ExampleSource("maths", **named, template="{question} {{=}}"), "train")
    assert (only.prompt, only.reference["answer"]) == ("1+1? {=}", "2")


def test_the_rows_of_the_authors_release(tmp_path):
    database = make_database(tmp_path / "shop" / "shop.sqlite").resolve()
    data = str(write_jsonl(tmp_path / "rows.jsonl", [release()]))
    (found,) = examples(ExampleSource("dph-rl", data, databases=str(tmp_path)), "train")
    reference = {"verifier": "sql", "match": "spider", "database": str(database), "query": "SELECT 1"}
    assert (found.reference, found.turns) == (reference, tuple(TURNS[1:]))


RIGHT = {"db_id": "shop", "question": "q", "SQL": "s"}


@pytest.mark.parametrize(("task", "row", "says"), [
    ("bird", {"question": "q", "SQL": "s"}, "line 1 has no field 'db_id', only"),
    ("bird", {"db_id": "shop", "SQL": "s"}, "line 1 has no field 'question'"),
    ("bird", {"db_id": "shop", "question": "q"}, "line 1 has no field 'SQL'"),
    *(("bird", RIGHT | {"SQL": query}, "line 1: SQL=.*some text") for query in (" ", ["x"], True)),
    ("bird", RIGHT | {"db_id": "shops"}, "line 1: db_id='shops'.*shops/shops.sqlite"),
    ("bird", RIGHT | {"db_id": "../shop"}, "line 1: db_id='../shop'.*plain name"),
    ("bird", RIGHT | {"db_id": "corrupt"}, r"line 1: .*corrupt\.sqlite cannot be read"),
    ("maths", {"problem": "1+1?"}, "line 1 has no field 'answer' or 'solution'"),
    # A solution without a marked answer is no answer.
    ("maths", {"problem": "1+1?", "solution": "It is two, as anyone can see."}, "line 1: solution.*boxed"),
    ("maths", {"problem": "1+1?", "solution": r"So: \boxed{}."}, "line 1: solution.*boxed"),
    ("dataset", {"prompt": [*TURNS, {"role": "assistant", "content": "4"}]}, "awaits an answer"),
    ("dataset", {"prompt": [{"role": "user"}]}, "role and content"), ("dataset", {"prompt": []}, "awaits"),
    ("dph-rl", release(db_id="../rows.jsonl"), "db_id"), ("dph-rl", release(gold_sql=None), "gold_sql"),
])  # fmt: skip
def test_a_wrong_row_says_where_and_what(tmp_path, task, row, says):
    make_database(tmp_path / "in" / "shop" / "shop.sqlite")
    (tmp_path / "in" / "corrupt").mkdir()
    (tmp_path / "in" / "corrupt" / "corrupt.sqlite").write_bytes(b"no database" * 100)
    data = str(write_jsonl(tmp_path / "rows.jsonl", [row]))
    with pytest.raises(ValueError, match=says):
        examples(ExampleSource(task, data, databases=str(tmp_path / "in")), "train")


@pytest.mark.parametrize("changed", [
    *({"template": place} for place in ("{questions}", "{}", "{0}", "{question")), {"limit": 0},
    {"limit": -1},
])  # fmt: skip
def test_another_template_or_limit_is_refused(bird, changed):
    with pytest.raises(ValueError, match="{}={!r}".format(*next(iter(changed.items())))):
        examples(ExampleSource("bird", str(bird), **changed), "train")


def test_a_mark_of_the_byte_order_at_the_start_of_a_file_is_no_part_of_it(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\n', encoding="utf-8-sig")
    assert [row.text("prompt") for row in read_rows(str(path))] == ["a"]
