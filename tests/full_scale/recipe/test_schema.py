import dataclasses
import json
from pathlib import Path

import pytest
import yaml

from dph_theory.support.checking import build
from full_scale.recipe import schema as config
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import Recipe, load_recipe, recipe_keys, recipe_names


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes recipes in a folder of their own, beside packaged ones in another."""
    packaged = tmp_path / "packaged"
    packaged.mkdir()
    monkeypatch.setattr(config, "RECIPES", packaged)

    def write(name, text, folder="mine"):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_recipe_is_the_defaults_and_what_it_says(written):
    recipe = load_recipe(written("a.yaml", "seed: 3\npresample: {k: 4, threshold: 2}\nmethod: {name: DPH-F}"))
    assert (recipe.name, recipe.seed) == ("a", 3)
    assert (recipe.presample.k, recipe.presample.threshold, recipe.presample.fresh) == (4, 2, True)
    assert recipe.method == config.MethodConfig(name="DPH-F")
    # A section without values has the defaults.
    for text in ("", "method:\nmodel:"):
        assert dataclasses.replace(load_recipe(written("empty.yaml", text)), name="") == Recipe()


def test_extends_merges_mappings_and_replaces_the_rest_but_never_the_name(written):
    base = written("base.yaml", "name: of-all\nseed: 1\ntrain: {a: 1, b: {c: 2, d: 3}}", "packaged")
    written("middle.yaml", "extends: base\nname: middle\ntrain: {b: {c: 5}}\nevaluate: {k: [4]}")
    top = written("top.yaml", "extends: middle.yaml\ntrain: {a: 9}")
    recipe = load_recipe(top)
    assert (recipe.seed, recipe.train, recipe.evaluate.k) == (1, {"a": 9, "b": {"c": 5, "d": 3}}, (4,))
    # A mapping is dropped by null, as an evaluation set is.
    assert load_recipe(written("less.yaml", "extends: middle.yaml\ntrain: {b: null}")).train == {"a": 1}
    assert [load_recipe(path).name for path in (base, top)] == ["of-all", "top"]


BOMB = "\n".join(["a0: &a0 [x]", *(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9))])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, r"bomb\.yaml is no valid YAML: write out the alias \*a0.*line 2"),
        (f"seed: {'9' * 5000}", r"bomb\.yaml is no valid YAML: .*digits"),
        ("train: " + "[" * 5000, r"bomb\.yaml is no valid YAML"),
    ],
)
def test_a_recipe_without_end_is_refused_at_once(written, text, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        load_recipe(written("bomb.yaml", text))


def test_a_packaged_recipe_is_found_by_name_and_listed(written):
    written("one-1.5b.yaml", "seed: 7", "packaged")
    written("_part.yaml", "seed: 8", "packaged")
    assert recipe_names() == ["one-1.5b"]
    assert load_recipe("one-1.5b").seed == 7
    with pytest.raises(ValueError, match=r"config='two'.*\['one-1.5b'\]"):
        load_recipe("two")


def test_overrides_are_yaml_and_the_last_counts(written):
    path = written("a.yaml", "train: {lr: 1}\nmodel: {lora: {r: 2}}")
    overrides = ("train.lr=1e-6", "train.new=true", "method.eta=0.05", "evaluate.k=[1, 2]", "model.lora=null")
    recipe = load_recipe(path, (*overrides, "name=x", "sampling.top_p=0.5", "sampling.top_p=0.7"))
    assert recipe.train == {"lr": 1e-6, "new": True}
    assert (recipe.method.eta, recipe.evaluate.k, recipe.model.lora, recipe.name) == (0.05, (1, 2), None, "x")
    assert recipe.sampling.top_p == 0.7
    assert load_recipe(path).train == {"lr": 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sedd: 1", r"key='sedd'.*did you mean 'seed'"),
        ("model: {pth: x}", r"model.key='pth'.*did you mean 'path'"),
        ("model: 3", "model=3.*mapping"),
        ("- 1", "a recipe is a mapping"),
        ("a: [", "no valid YAML"),
        ("methods: 3", "methods=3"),
        ("extends: nowhere", "config='nowhere'"),
        ("extends: b", "extends=.*circle"),
        ("seed: true", "seed=True.*int"),
        ("sampling: {temperature: true}", "sampling.temperature=True.*number"),
        ("presample: {fresh: 1}", "presample.fresh=1.*bool"),
        ("train: [1]", r"train=\[1\].*mapping"),
        ("evaluate: {k: 3}", "evaluate.k=3.*list"),
        ("name: ../escape", "name='../escape'"),
        ("presample: {k: 4, threshold: 5}", "presample.threshold=5.*from 1 to k=4"),
        ("presample: {kernel: k.npz}", "presample.kernel='k.npz'.*null without presample.anchors"),
        ("sampling: {temperature: 0}", "sampling.temperature=0 .*greater than 0"),
        ("sampling: {top_p: 1.5}", "sampling.top_p=1.5"),
        ("model: {dtype: float8}", "model.dtype='float8'.*bfloat16"),
        ("method: {eta: -0.1}", "method.eta=-0.1.*greater than or equal to 0"),
        ("method: {eta: .inf}", "method.eta=inf.*finite"),
        ("method: {gauge: printedd}", "method.gauge='printedd'"),
        ("method: {mu: 0.5, beta: 0.1}", "method.mu=0.5.*not both"),
        ("evaluate: {samples: 4}", "evaluate.k=8.*from 1 to evaluate.samples=4"),
    ],
)
def test_a_wrong_recipe_is_named(written, text, says):
    written("b.yaml", "extends: c")
    written("c.yaml", "extends: a")
    with pytest.raises(ValueError, match=says):
        load_recipe(written("a.yaml", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method: {name: DPH-F}\nmethod: {eta: 0.1}", "the key 'method' appears twice"),
        ("method: {eta: 0.1, eta: 0.2}", "the key 'eta' appears twice"),
        ("3: {eta: 0.1}", "a key that is no text"),
        ("2026-01-01: 1", "2026-01-01"),
        ("extends: 5", "extends=5: |extends=5 "),
        ("method: {name: DPH-F}\nmethods: {DPH-F: 5}", "methods.DPH-F=5"),
        ("methods: {DPH-F: 5}", "methods.DPH-F=5"),
        ("methods: {GRPOO: {seed: 4}}", "methods key='GRPOO'"),
        ("method: {name: [a]}\nmethods: {GRPO: {seed: 4}}", r"method.name=\['a'\]"),
        ("seed: -1", "seed=-1"),
        ("seed: 4294967296", "seed=4294967296"),
        ("train: {learning_rate: .inf}", "train.learning_rate=inf"),
        ("train: {data_seed: -1}", "train.data_seed=-1"),
        ('name: "a\\nb"', "letters, digits"),
        ("name: <img>", "letters, digits"),
    ],
)
def test_a_recipe_that_could_be_read_two_ways_is_refused_by_name(written, text, message):
    with pytest.raises(ValueError, match=message):
        load_recipe(written("a.yaml", text))


@pytest.mark.parametrize(
    "override", ["seed", "=3", "seed=[", "seed.x=3", "seed=x", "nothing=1", "method.etta=1"]
)
def test_a_wrong_override_is_named(written, override):
    with pytest.raises(ValueError, match=override.split("=")[0].split(".")[0] or "override"):
        load_recipe(written("a.yaml", "seed: 3"), [override])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("2.5E+3", 2500.0),
        ("-1e2", -100.0),
        ("'1e2'", "1e2"),
        ("e5", "e5"),
        ("010", 10),
        ("0x1f", 31),
        ("1:30", "1:30"),
        ("no", "no"),
    ],
)
def test_a_number_without_a_point_is_no_text(written, text, value):
    path = written("a.yaml", f"train: {{x: {text}}}")
    for recipe in (load_recipe(path), load_recipe(path, [f"train.x={text}"])):
        assert recipe.train == {"x": value}


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_survives_json_and_yaml(name):
    recipe = load_recipe(name, ["method.gauge=0.1", "train.x=null"])
    stored = json.dumps(recipe.as_dict())
    assert build(Recipe, json.loads(stored), "") == recipe
    assert build(Recipe, yaml.safe_load(yaml.safe_dump(json.loads(stored))), "") == recipe


def test_every_key_is_told_with_its_type_and_default():
    told = {key: (kind, default) for key, kind, default, _ in recipe_keys()}
    assert told["method.eta"] == told["method.mu"] == ("float or null", "null")
    assert told["method.gauge"][0] == "printed or normalised or float or null"
    assert told["sampling.backend"] == ("transformers or vllm", '"transformers"')
    assert told["presample.k"] == ("int", "8")
    assert all(meaning.endswith(".") for *_, meaning in recipe_keys())


def test_runs_share_a_pre_sampling_and_the_base_and_nothing_else():
    first, second = (Folders.of_recipe(Recipe(name="a", output="out", seed=seed)) for seed in (0, 1))
    assert first.presample == second.presample == Path("out/presample")
    assert first.base() == second.base()
    assert first.base().evaluation == Path("out/base/evaluation.json")
    assert second.run_folder == Path("out/a-seed1")
    names = {"checkpoints": "checkpoints", "model": "model", "training": "training.json"}
    for field, name in (names | {"evaluation": "evaluation.json"}).items():
        assert getattr(second, field) == second.run_folder / name
