"""Small SQLite databases for tests, and folders in the layouts that benchmarks are published in."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

SHOP = """
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER, photo BLOB);
INSERT INTO item VALUES
  (1, 'pen', 0.1, 10, x'00ff'), (2, 'ink', 0.2, NULL, NULL), (3, 'pen', NULL, 10, x''),
  (4, 'crêpe 🦆', 1.5, 0, NULL);
CREATE TABLE empty(id INTEGER);
CREATE INDEX by_name ON item(name);
CREATE VIEW cheap AS SELECT name FROM item WHERE price < 1;
"""


def make_database(path: Path, script: str = SHOP) -> Path:
    """A database of the script, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def write_json(path: Path, rows: list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def bird_folder(root: Path) -> Path:
    """BIRD: train/ and dev/, each with its JSON and its folder of databases."""
    for split in ("train", "dev"):
        make_database(root / split / f"{split}_databases" / "shop" / "shop.sqlite")
    row = {"db_id": "shop", "question": "How many pens?", "evidence": "a pen is named 'pen'"}
    query = "SELECT COUNT(*) FROM item WHERE name = 'pen'"
    rows = [row | {"SQL": query}, row | {"SQL": "SELECT 1", "evidence": ""}]
    write_json(root / "train" / "train.json", rows)
    dev = {"question_id": 0, "question": "Names?", "SQL": "SELECT name FROM item", "difficulty": "simple"}
    write_json(root / "dev" / "dev.json", [row | dev])
    return root


def spider_folder(root: Path) -> Path:
    """Spider: train_spider.json and dev.json beside database/."""
    make_database(root / "database" / "shop" / "shop.sqlite")
    row = {"db_id": "shop", "question": "Names, dearest first?", "query_toks": ["SELECT"]}
    query = "SELECT name, price FROM item ORDER BY price DESC"
    write_json(root / "train_spider.json", [row | {"query": query}])
    write_json(root / "dev.json", [row | {"query": "SELECT name FROM item"}])
    return root
