import json

import pytest
from support.sql_databases import write_json, write_jsonl

from full_scale.tasks.benchmarks import DataRow, read_rows

ROWS = [{"question": "one"}, {"question": "zwölf"}]


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def questions(rows):
    return [row.text("question") for row in rows]


def test_json_and_jsonl_files(tmp_path):
    for file in (write_json(tmp_path / "a.json", ROWS), write_jsonl(tmp_path / "a.jsonl", ROWS)):
        assert questions(read_rows(str(file))) == ["one", "zwölf"]


def test_blank_lines_are_no_rows_and_lines_keep_their_numbers(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('\n{"a": 1}\n\n{"a": 2}\n')
    assert [row.where for row in read_rows(str(file))] == [f"{file} line 2", f"{file} line 4"]


def test_a_line_separator_inside_text_ends_no_row(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"question": "a\u2028b\x85c"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert questions(read_rows(str(file))) == ["a\u2028b\x85c"]


def test_a_folder_holds_the_first_of_the_files(tmp_path):
    write_json(tmp_path / "in" / "a.json", ROWS)
    assert questions(read_rows(str(tmp_path), files=("b.json", "in/a.json"))) == ["one", "zwölf"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_folder_may_be_a_dataset(tmp_path, kind):
    import datasets

    folder = tmp_path / "set"
    folder.mkdir()
    table = datasets.Dataset.from_list(ROWS)
    for split in ("train", "test"):
        file = folder / f"{split}.{kind}"
        table.to_parquet(file) if kind == "parquet" else write_jsonl(file, ROWS)
    rows = read_rows(str(folder), files=("train.json",), split="test")
    assert questions(rows) == ["one", "zwölf"]
    assert rows[1].where == f"{folder} (test) row 1"
    with pytest.raises(ValueError, match="nosuch"):
        read_rows(str(folder), split="nosuch")


def test_a_name_that_is_nothing_says_what_is_allowed(tmp_path):
    with pytest.raises(ValueError, match=r"nobody/nothing.*JSON or JSONL.*'train.json'.*dataset"):
        read_rows("nobody/nothing", files=("train.json",))
    with pytest.raises(ValueError, match="dataset"):
        read_rows(str(tmp_path / "absent.json"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{", "no valid JSON"),
        ("a.json", "{}", "no list of rows, but a dict"),
        ("a.json", "[1]", "row 0 is no JSON object, but a int"),
        ("a.json", "[]", "at least one row"),
        ("a.jsonl", "", "at least one row"),
        ("a.jsonl", '{"a": 1}\n{"a":\n', "line 2 is no valid JSON"),
        ("a.jsonl", "[]\n", "line 1 is no JSON object"),
        ("a.csv", "a,b\n", "a .json or .jsonl file"),
    ],
)
def test_a_broken_file_says_where(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        read_rows(str(tmp_path / name))


def test_a_file_that_is_no_utf8_says_so(tmp_path):
    (tmp_path / "a.json").write_bytes(b'["\xff"]')
    with pytest.raises(ValueError, match=r"a\.json.*UTF-8"):
        read_rows(str(tmp_path / "a.json"))


def test_text_of_a_row():
    row = DataRow("file row 3", {"a": None, "b": " ", "c": "x", "d": 7, "e": ["x"], "f": True})
    assert row.text("a", "c") == "x"
    assert row.text("d") == "7"
    for field in ("b", "e", "f"):
        with pytest.raises(ValueError, match=f"file row 3: {field}="):
            row.text(field)
    with pytest.raises(ValueError, match="file row 3 has no field 'a' or 'z', only"):
        row.text("a", "z")
