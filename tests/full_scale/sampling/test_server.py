"""Against a server process of its own, which gives two answers a request at most."""

import json
import subprocess
import sys

import pytest
from support.sql_databases import make_database, write_jsonl

from full_scale.sampling.count import CountSettings, count
from full_scale.tasks.protocol import VerifierError

SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if fields["model"] == "unknown":
            return self.reply(404, {"error": "no such model"})
        with open("requests.jsonl", "a") as file:
            file.write(json.dumps({**fields, "path": self.path}) + "\\n")
        chat, number = "messages" in fields, len(open("requests.jsonl").readlines())
        if os.path.exists("die") and number > 2:
            os._exit(1)
        question = fields["messages"][-1]["content"] if chat else fields["prompt"]
        words = [f"{question} {fields['seed'] + i}" for i in range(min(2, fields["n"]))]
        choices = [{"message": {"content": word}} if chat else {"text": word} for word in words]
        self.reply(200, {"choices": [{**choice, "finish_reason": "stop"} for choice in choices]})

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
EVEN = "def even(answer, row):\n    return int(answer.split()[-1]) % 2 == 0\n"


@pytest.fixture
def serve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "own.py").write_text(EVEN)
    rows = [{"prompt": f"question {i}"} for i in range(4)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    processes = []

    def start():
        process = subprocess.Popen([sys.executable, "server.py"], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return f"http://127.0.0.1:{int(process.stdout.readline())}"

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def counted(url, path, **changes):
    usual = {
        "model": "served",
        "prompts": "prompts.jsonl",
        "verifier": "own.py:even",
        "n": 3,
        "batch_size": 6,
    }
    return count(CountSettings(**{**usual, "server": url, **changes}), path, say=lambda words: None)


@pytest.mark.parametrize("chat", [None, False])
def test_as_many_answers_as_were_asked_for_all_as_sampled_at_one_without_truncation(serve, tmp_path, chat):
    result = counted(f"{serve()}/v1", tmp_path / "a.jsonl", keep=True, chat=chat)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"question {i}" for i in range(4)]
    for row in rows:
        assert len(set(row["answer"])) == row["n"] == 3
        assert row["correct"] == [int(answer.split()[-1]) % 2 == 0 for answer in row["answer"]]
    assert result.unfinished == 0
    requests = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert sorted(request["n"] for request in requests) == [1] * 4 + [3] * 4
    for request in requests:
        assert request["path"] == ("/v1/completions" if chat is False else "/v1/chat/completions")
        assert (request["temperature"], request["top_p"], request["top_k"], request["min_p"]) == (1, 1, -1, 0)
        assert (request["repetition_penalty"], request["max_tokens"]) == (1, 1024)


def test_a_server_that_dies_loses_nothing_and_one_that_refuses_is_named(serve, tmp_path):
    counted(serve(), tmp_path / "whole.jsonl")
    (tmp_path / "requests.jsonl").unlink()
    (tmp_path / "die").touch()
    url = serve()
    with pytest.raises(RuntimeError, match=f"server='{url}' gave no answers: .*finished batches .* are kept"):
        counted(url, tmp_path / "a.jsonl", batch_size=3)
    (tmp_path / "die").unlink()
    assert len((tmp_path / "a.jsonl.parts" / "answers.jsonl").read_text().splitlines()) == 2
    with pytest.raises(RuntimeError, match=r"gave no answers: ConnectionRefusedError|URLError"):
        counted(url, tmp_path / "a.jsonl", batch_size=3)
    (tmp_path / "requests.jsonl").unlink()
    counted(serve(), tmp_path / "a.jsonl", batch_size=3)
    # The first prompt was not sent again.
    assert "question 0" not in (tmp_path / "requests.jsonl").read_text()
    with pytest.raises(RuntimeError, match=r"404 Not Found: .*no such model"):
        counted(serve(), tmp_path / "b.jsonl", model="unknown")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ({"choices": [{"message": {"content": [{"text": "4"}]}}]}, "an answer that is no text"),
        ({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, "an answer that is no text"),
        ({"choices": [{}]}, "a choice without text"),
        ({"choices": [None]}, "a choice without text"),
        ({"choices": []}, "a reply without choices"),
        ({"error": "out of memory"}, "out of memory"),
        (None, "a reply without choices: null"),
        (7, "a reply without choices: 7"),
        ("[" * 200_000, "no valid JSON: it is nested too deeply"),
        ('{"choices": [{"text": "1"}], "choices": [{"text": "2"}]}', "'choices' appears twice"),
        ('{"choices": [{"message": {"content": "1", "content": "2"}}]}', "'content' appears twice"),
        ("<html>gateway timeout</html>", "no valid JSON.*gateway timeout"),
    ],
)
def test_a_reply_that_is_no_answer_is_shown_and_nothing_is_counted(serve, tmp_path, reply, says):
    body = reply if isinstance(reply, str) else json.dumps(reply)
    (tmp_path / "server.py").write_text(
        SERVER.replace("data = json.dumps(value).encode()", f"data = {body!r}.encode()")
    )
    with pytest.raises(RuntimeError, match=says):
        counted(serve(), tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_answers_whose_reference_queries_do_not_run_are_not_counted(serve, tmp_path):
    database = make_database(tmp_path / "d.sqlite", "CREATE TABLE other (id)")
    row = {"database": str(database), "query": "SELECT id FROM item"}
    write_jsonl(tmp_path / "prompts.jsonl", [{"prompt": f"SELECT {i}", **row} for i in range(2)])
    with pytest.raises(VerifierError, match="failed on every one of 6 answers: error: no such table: item"):
        counted(serve(), tmp_path / "a.jsonl", verifier="sql")
    assert not (tmp_path / "a.jsonl").exists()


DRIPPING = """    def reply(self, status, value):
        if os.path.exists("body"):
            self.send_response(status)
            self.end_headers()
        while True:
            self.wfile.write(b"x")
            time.sleep(0.01)

    def log_message"""


@pytest.mark.parametrize(
    ("part", "limit", "value", "says"),
    [
        ("header", "_SECONDS", 0.5, "no whole reply in 0.5 s; finished batches"),
        ("body", "_SECONDS", 0.5, "no whole reply in 0.5 s; finished batches"),
        ("body", "_BYTES", 20, "a reply of more than 20 bytes"),
    ],
)
def test_a_reply_that_drips_for_ever_is_cut_off(serve, tmp_path, monkeypatch, part, limit, value, says):
    (tmp_path / part).touch()
    (tmp_path / "server.py").write_text(f"import time\n{SERVER.replace('    def log_message', DRIPPING)}")
    monkeypatch.setattr(f"full_scale.sampling.server.{limit}", value)
    with pytest.raises(RuntimeError, match=says):
        counted(serve(), tmp_path / "a.jsonl")
