import pytest

from full_scale.storage.places import require_here

LOCAL = ("/no/where", "./data", "~/data", "../x", "runs/a/b", "train.jsonl", "here/model", "a\\b", "x/y.gguf")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)


def test_a_path_that_leads_nowhere_is_no_name_of_the_hub():
    for name in ("gpt2", "meta-llama/Llama-3.1-8B-Instruct", "openai/gsm8k", "here"):
        require_here("data", name, "any")
    for name in LOCAL:
        with pytest.raises(ValueError, match="any; there is no such path on this machine"):
            require_here("data", name, "any")
