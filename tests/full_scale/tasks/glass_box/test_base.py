import numpy as np
import pytest
from transformers import LlamaForCausalLM

from full_scale.evaluation.exact import exact, next_token_tables
from full_scale.tasks.glass_box.base import LlamaFit, build_base, pressed
from full_scale.tasks.glass_box.box import box

FIT = LlamaFit(hidden=32, steps=250, learning_rate=1e-2)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return build_base(box("selection-2"), tmp_path_factory.mktemp("bases"), FIT)


def tables(folder):
    return next_token_tables(LlamaForCausalLM.from_pretrained(folder), box("selection-2"))


def test_the_base_has_the_wanted_tables_and_is_built_once(base):
    found = tables(base)
    assert found[0] == pytest.approx(box("selection-2").base[0], abs=0.01)
    assert found[1][:, :2] == pytest.approx(box("selection-2").base[1][:, :2], abs=0.01)
    built = (base / "model.safetensors").stat().st_mtime_ns
    assert build_base(box("selection-2"), base.parent, FIT) == base
    assert (base / "model.safetensors").stat().st_mtime_ns == built
    assert [path for path in base.parent.iterdir() if path != base] == []


def test_pressed_answers_have_the_share_asked_for(base):
    found = pressed(box("selection-2"), base, 1e-3, FIT)
    measures = exact(box("selection-2"), tables(found), tables(base))
    assert 1 - measures.first_share == pytest.approx(1e-3, rel=0.2)
    # The second token's law is the base's, up to the fit.
    assert np.abs(tables(found)[1][:, :2] - tables(base)[1][:, :2]).max() < 0.02
