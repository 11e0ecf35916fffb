import pytest

from full_scale.models.adapter import adapter
from full_scale.recipe.schema import ModelConfig


def test_an_adapter_is_what_the_recipe_says():
    assert adapter(ModelConfig()) is None
    made = adapter(ModelConfig(lora={"r": 4, "target_modules": "all-linear"}))
    assert (made.r, made.target_modules, made.task_type) == (4, "all-linear", "CAUSAL_LM")


@pytest.mark.parametrize("lora", [{"rank": 4}, {"task_type": "CAUSAL_LM"}])
def test_what_peft_does_not_take_is_named(lora):
    with pytest.raises(ValueError, match=rf"model\.lora=.*LoraConfig.*{next(iter(lora))}"):
        adapter(ModelConfig(lora=lora))
