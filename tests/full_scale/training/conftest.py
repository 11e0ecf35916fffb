"""The initial model of the trainings."""

import pytest
from support.tiny_llama import tiny_llama


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")
