"""Files that are damaged, nested, ambiguous or far larger than they look end in one error with their name."""

import json
import zipfile

import pytest

from dph_theory.checkpoints import matched, read_counts
from dph_theory.support import files

ROW = '{"id": "a", "n": 4, "c": 1}\n'
DEEP = "[" * 200_000 + "]" * 200_000
TWICE = '{"id": "a", "n": 4, "c": 1, "c": 3}'


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.json", DEEP, "x.json is no valid JSON: it is nested too deeply"),
        ("x.jsonl", f"{ROW}{DEEP}\n", "x.jsonl:2: is no valid JSON: it is nested too deeply"),
        ("x.json", '{"samples": [{"id": ', "x.json is no valid JSON: Expecting value"),
        ("x.json", f"[{TWICE}]", "x.json is no valid JSON: the name 'c' appears twice in an object"),
        ("x.jsonl", f"{TWICE}\n", "x.jsonl:1: is no valid JSON: the name 'c' appears twice in an object"),
        ("x.json", '{"a": [0, 1], "a": [1, 1]}', "the name 'a' appears twice"),
        ("x.jsonl", ROW.replace('"a"', "1" * 6000), "x.jsonl:1: is no valid JSON: Exceeds the limit"),
        ("x.csv", f"id,n,c\na,{'4' * 6000},1\n", "x.csv:2: n='4"),
    ],
)
def test_damaged_and_ambiguous_text_is_named_in_a_short_error(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match="x") as error:
        read_counts(tmp_path / name)
    assert words in str(error.value)
    assert len(str(error.value)) < 700


def test_an_id_of_thousands_of_digits_is_an_id_and_nested_cells_are_text(tmp_path):
    ids = [f"{i}{'1' * 6000}" for i in (2, 1)]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(ROW.replace('"a"', f'"{name}"') for name in ids))
    assert [row.id for row in matched(read_counts(path), read_counts(path)).base] == ids[::-1]
    (tmp_path / "x.csv").write_text(f"prompt,reward,note\na b,1,{'[' * 100_000}\na b,0,x\n")
    assert read_counts(tmp_path / "x.csv").rows["a b"].c == 1


def test_a_row_nested_deeper_than_its_reader_goes_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.jsonl").write_text(ROW)

    def nested(*_):
        raise RecursionError

    monkeypatch.setattr("dph_theory.checkpoints.reading.prompt_row", nested)
    with pytest.raises(ValueError, match=r"x.jsonl: nested too deeply"):
        read_counts(tmp_path / "x.jsonl")


def test_every_flipped_byte_of_a_parquet_file_is_an_error_with_its_name_or_changes_nothing(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(
        {"id": [f"p{i}" for i in range(50)], "n": [4] * 50, "c": [i % 5 for i in range(50)]}
    )
    parquet.write_table(table, tmp_path / "good.parquet", write_page_checksum=True)
    path, data = tmp_path / "x.parquet", (tmp_path / "good.parquet").read_bytes()
    good, messages = read_counts(tmp_path / "good.parquet").rows, []
    for place in range(0, len(data), 11):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert read_counts(path).rows == good, place
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert [words for words in messages if "x.parquet" not in words] == []


def test_an_archive_or_table_that_would_fill_the_memory_is_refused_before_it_is_unpacked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "_MOST_UNPACKED", 2**20)
    with zipfile.ZipFile(tmp_path / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("summaries.json", json.dumps([]) + " " * 2**22)
    with pytest.raises(ValueError, match=r"x.eval.* would unpack to more than"):
        read_counts(tmp_path / "x.eval")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = ["x" * 2**12] * 2**11
    for column in (texts, [{"said": [text]} for text in texts]):
        table = pyarrow.table({"id": [*map(str, range(2**11))], "n": [4] * 2**11, "text": column})
        parquet.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(ValueError, match=r"x.parquet.* would unpack to more than"):
            read_counts(tmp_path / "x.parquet")


@pytest.mark.parametrize("place", [40, 60, 80])
def test_a_damaged_archive_is_named(tmp_path, place):
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("summaries.json", json.dumps([{"id": i, "scores": {}} for i in range(200)]))
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"x.eval"):
        read_counts(path)
