import pytest

from full_scale.models.load import load_tokenizer
from full_scale.recipe.schema import ModelConfig, load_recipe, recipe_names
from full_scale.storage.places import require_here
from full_scale.tasks.benchmarks import read_rows

LOCAL = (
    "/no/where",
    "./data/bird",
    "~/data",
    "../x",
    "runs/a/b",
    "train.jsonl",
    "here/model",
    "a\\b",
    "x/y.gguf",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", LOCAL)
def test_a_path_that_leads_nowhere_is_no_name_of_the_hub(here, name, monkeypatch):
    def asked(*given, **named):
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr("datasets.load_dataset", asked)
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", asked)
    with pytest.raises(ValueError, match="no such path on this machine"):
        read_rows(name)
    with pytest.raises(ValueError, match=r"model\.path.*no such path on this machine"):
        load_tokenizer(ModelConfig(path=name))


@pytest.mark.parametrize("name", ["gpt2", "meta-llama/Llama-3.1-8B-Instruct", "openai/gsm8k", "here"])
def test_names_of_the_hub_and_what_is_here_pass(here, name):
    require_here("data", name, "any")
    # A name that leads nowhere is refused: the check is not idle.
    with pytest.raises(ValueError, match="no such path"):
        require_here("data", f"./not-{name}", "any")


@pytest.mark.parametrize("name", [name for name in recipe_names() if not name.startswith("tiny")])
def test_the_data_of_a_packaged_recipe_are_on_this_machine(here, name):
    task = load_recipe(name).task
    for data in (task.data, *(each["data"] for each in task.options["evaluation"].values())):
        with pytest.raises(ValueError, match="no such path"):
            require_here("data", data, "any")
