import json

import pytest
from support.sql_databases import SHOP, bird_folder, make_database, spider_folder, write_json, write_jsonl

from full_scale.tasks.benchmarks import ExampleSource, examples, has_split, schema_text


@pytest.fixture(scope="module")
def bird(tmp_path_factory):
    return bird_folder(tmp_path_factory.mktemp("bird"))


@pytest.fixture(scope="module")
def spider(tmp_path_factory):
    return spider_folder(tmp_path_factory.mktemp("spider"))


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
    assert "CREATE TABLE item(id INTEGER" in first.prompt
    assert "How many pens?" in first.prompt
    assert "External knowledge: a pen is named 'pen'" in first.prompt
    assert "External knowledge: none" in second.prompt
    (dev,) = examples(ExampleSource("bird", str(bird), split="dev"), "in_domain")
    assert (dev.id, dev.reference["query"]) == ("in_domain/0", "SELECT name FROM item")
    assert "dev_databases" in dev.reference["database"]


def test_spider_as_it_is_published(spider):
    (row,) = examples(ExampleSource("spider", str(spider)), "train")
    assert row.reference["match"] == "spider"
    assert row.reference["query"].endswith("ORDER BY price DESC")
    assert row.reference["database"] == str((spider / "database" / "shop" / "shop.sqlite").resolve())
    assert "Names, dearest first?" in row.prompt


def test_a_file_and_its_databases_may_be_named_alone(bird, tmp_path):
    row = {"db_id": "shop", "question": "q", "SQL": "SELECT 1"}
    file = write_jsonl(tmp_path / "mine.jsonl", [row] * 3)
    source = ExampleSource("bird", str(file), str(bird / "train" / "train_databases"), limit=2)
    assert [example.id for example in examples(source, "train")] == ["train/0", "train/1"]
    make_database(tmp_path / "shop" / "shop.sqlite")
    assert len(examples(ExampleSource("bird", str(file)), "train")) == 3


def test_the_schema_is_what_a_reader_needs(tmp_path):
    database = make_database(
        tmp_path / "d.sqlite", SHOP + "CREATE TABLE counter(a INTEGER PRIMARY KEY AUTOINCREMENT);"
    )
    statements = schema_text(database).splitlines()
    assert [line.split("(")[0] for line in statements if line.startswith("CREATE")] == [
        "CREATE TABLE item",
        "CREATE TABLE empty",
        "CREATE INDEX by_name ON item",
        "CREATE VIEW cheap AS SELECT name FROM item WHERE price < 1;",
        "CREATE TABLE counter",
    ]
    assert "sqlite_sequence" not in schema_text(database)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"problem": "1+1?", "answer": "2"}, "2"),
        ({"question": "1+1?", "answer": "One and one.\n#### 1,002"}, "1,002"),
        ({"problem": "1+1?", "solution": r"It is $1+1 = \boxed{2}$."}, "2"),
        ({"prompt": "1+1?", "answer": 2}, "2"),
        ({"question": "1+1?", "answer": r"\frac{4}{2}"}, r"\frac{4}{2}"),
        ({"problem": "1+1?", "answer": "2", "solution": r"\boxed{3}"}, "2"),
    ],
)
def test_maths_in_its_usual_fields(tmp_path, row, answer):
    file = write_jsonl(tmp_path / "m.jsonl", [row])
    (example,) = examples(ExampleSource("maths", str(file)), "train")
    assert example.reference == {"verifier": "maths", "answer": answer}
    assert example.prompt.startswith("1+1?\n")
    assert example.prompt.endswith(r"within \boxed{}.")


def test_fields_and_prompts_may_be_named(tmp_path):
    file = write_json(tmp_path / "m.json", [{"q": "1+1?", "a": "2", "question": "no", "answer": "0"}])
    source = ExampleSource("maths", str(file), question="q", answer="a", template="{question} {{=}}")
    (example,) = examples(source, "train")
    assert (example.prompt, example.reference["answer"]) == ("1+1? {=}", "2")


@pytest.mark.parametrize("solution", ["It is two, as anyone can see.", r"So: \boxed{}."])
def test_a_solution_without_a_marked_answer_is_no_answer(tmp_path, solution):
    file = write_jsonl(tmp_path / "m.jsonl", [{"problem": "1+1?", "solution": solution}])
    with pytest.raises(ValueError, match=r"line 1: solution.*boxed"):
        examples(ExampleSource("maths", str(file)), "train")


def test_braces_in_questions_are_only_text(tmp_path):
    file = write_jsonl(tmp_path / "m.jsonl", [{"problem": r"\frac{1}{2} {x}?", "answer": "1"}])
    assert examples(ExampleSource("maths", str(file)), "train")[0].prompt.startswith(r"\frac{1}{2} {x}?")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question": "q", "SQL": "s"}, "row 0 has no field 'db_id'"),
        ({"db_id": "shop", "SQL": "s"}, "row 0 has no field 'question'"),
        ({"db_id": "shop", "question": "q"}, "row 0 has no field 'SQL'"),
        ({"db_id": "shop", "question": "q", "SQL": " "}, "row 0: SQL=' '"),
        ({"db_id": "shops", "question": "q", "SQL": "s"}, "row 0: db_id='shops'.*shops/shops.sqlite"),
        ({"db_id": "../shop", "question": "q", "SQL": "s"}, "row 0: db_id='../shop'.*plain name"),
    ],
)
def test_a_wrong_row_says_where_and_what(bird, tmp_path, row, says):
    file = write_json(tmp_path / "a.json", [row])
    with pytest.raises(ValueError, match=says):
        examples(ExampleSource("bird", str(file), str(bird / "train" / "train_databases")), "train")


def test_a_corrupt_database_names_its_row(tmp_path):
    file = write_json(tmp_path / "a.json", [{"db_id": "d", "question": "q", "SQL": "s"}])
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "d.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(ValueError, match=r"row 0: .*d\.sqlite cannot be read"):
        examples(ExampleSource("bird", str(file)), "train")


@pytest.mark.parametrize("template", ["{questions}", "{}", "{0}", "{question"])
def test_a_template_with_another_place_is_refused(bird, template):
    with pytest.raises(ValueError, match="template"):
        examples(ExampleSource("bird", str(bird), template=template), "train")


def test_which_splits_a_folder_has(bird, spider, tmp_path):
    assert has_split("bird", str(bird), "dev")
    assert has_split("spider", str(spider), "train")
    assert not has_split("maths", str(spider), "dev")
    assert not has_split("bird", str(tmp_path), "dev")
    assert not has_split("bird", str(bird), "nosuch")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(bird, limit):
    with pytest.raises(ValueError, match=f"limit={limit}"):
        examples(ExampleSource("bird", str(bird), limit=limit), "train")


TURNS = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "2+2?"}]


def written(folder, rows):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_any_dataset_with_prompts_and_answers(tmp_path):
    data = written(tmp_path, [{"ask": TURNS, "say": "so #### 4"}, {"ask": "1+1?", "say": "2"}])
    source = ExampleSource("dataset", data, question="ask", answer="say")
    first, second = examples(source, "train")
    assert first.turns == tuple(TURNS)
    assert first.prompt == "system: be brief\n\nuser: 2+2?"
    assert (first.reference["answer"], second.reference["answer"]) == ("4", "2")
    assert (second.prompt, second.turns) == ("1+1?", ())
    done = [*TURNS, {"role": "assistant", "content": "4"}]
    for prompt, named in (
        (done, "awaits an answer"),
        ([{"role": "user"}], "role and content"),
        ([], "awaits"),
    ):
        data = written(tmp_path, [{"prompt": prompt, "answer": "4"}])
        with pytest.raises(ValueError, match=named):
            examples(ExampleSource("dataset", data), "train")


def test_the_rows_of_the_authors_release(tmp_path):
    (tmp_path / "db" / "shop").mkdir(parents=True)
    (tmp_path / "db" / "shop" / "shop.sqlite").write_bytes(b"")
    truth = {"db_id": "shop/shop.sqlite", "gold_sql": "SELECT 1", "cmp_method": "spider"}
    row = {"data_source": "sql", "prompt": TURNS[1:], "reward_model": {"ground_truth": truth}, "id": 0}
    source = ExampleSource("dph-rl", written(tmp_path, [row]), databases=str(tmp_path / "db"))
    (found,) = examples(source, "train")
    database = str((tmp_path / "db" / "shop" / "shop.sqlite").resolve())
    assert found.reference == {
        "verifier": "sql",
        "match": "spider",
        "database": database,
        "query": "SELECT 1",
    }
    assert found.turns == tuple(TURNS[1:])
    for change, named in (({"db_id": "../rows.jsonl"}, "db_id"), ({"gold_sql": None}, "gold_sql")):
        written(tmp_path, [{**row, "reward_model": {"ground_truth": truth | change}}])
        with pytest.raises(ValueError, match=named):
            examples(source, "train")
