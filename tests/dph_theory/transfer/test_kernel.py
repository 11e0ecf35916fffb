from dataclasses import replace

import numpy as np
import pytest
from support.linear_answers import linear_answers

from dph_theory.transfer import AnswerKernel


def test_a_stored_kernel_comes_back(tmp_path):
    kernel, *_ = linear_answers()
    kernel = replace(kernel, about={"adam": 2600.0, "lora": None})
    kernel.save(tmp_path / "kernel.npz")
    found = AnswerKernel.load(tmp_path / "kernel.npz")
    assert (found.names, found.sets, found.about) == (kernel.names, kernel.sets, kernel.about)
    assert found.gram == pytest.approx(kernel.gram, rel=1e-6, abs=1e-7)
    assert (found.log_p == kernel.log_p).all()
    assert [each.name for each in tmp_path.iterdir()] == ["kernel.npz"]
    assert repr(found) == "AnswerKernel(3 train, 2 held out; 20 answers)"


def test_prompts_by_set_and_by_name():
    kernel, *_ = linear_answers()
    assert kernel.prompts_in("held out").tolist() == [3, 4]
    assert kernel.places("held out") == {"prompt 3": 3, "prompt 4": 4}
    with pytest.raises(ValueError, match="set='test' is not allowed: one of train, held out"):
        kernel.prompts_in("test")
    twice = replace(kernel, names=(*kernel.names[:4], "prompt 0"))
    assert twice.places("train")["prompt 0"] == 0
    with pytest.raises(ValueError, match="prompt='prompt 0' is not allowed: in one set of train, held out"):
        twice.places()


def test_the_nearest_kernel_without_negative_eigenvalues_is_nearer_to_the_true_one_than_a_noisy_one():
    kernel, *_ = linear_answers()
    noise = np.random.default_rng(0).normal(size=kernel.gram.shape)
    noisy = replace(kernel, gram=kernel.gram + (noise + noise.T) * np.abs(kernel.gram).mean())
    nearest = noisy.positive()
    assert np.linalg.eigvalsh(nearest.gram).min() > -1e-9
    assert nearest.about["negative"] > 0.01
    assert np.linalg.norm(nearest.gram - kernel.gram) < np.linalg.norm(noisy.gram - kernel.gram)


def test_a_prompt_without_a_correct_answer_moves_nobody():
    kernel, *_ = linear_answers()
    none = replace(kernel, correct=kernel.correct & (kernel.prompt != 1))
    K, rates = none.log_odds
    assert rates[1] == 0
    assert (K[1] == 0).all()
    assert K[0] == pytest.approx(np.where(np.arange(5) == 1, 0, kernel.log_odds.kernel[0]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"names": ("a",) * 5}, "no name twice in a set"),
        ({"sets": ("train",)}, "one set for each"),
        ({"gram": np.eye(3)}, "of 20 answers, as prompt has"),
        ({"gram": np.triu(np.ones((20, 20)))}, r"gram\[0, 1\]=1.0 .*gram\[1, 0\] = 0.0"),
        ({"prompt": np.zeros(20, int)}, "indices of all 5 prompts"),
        ({"log_p": np.zeros(20)}, "probabilities of 'prompt 0'=4.0 is not allowed: a sum of one"),
    ],
)
def test_errors(changes, said):
    kernel, *_ = linear_answers()
    with pytest.raises(ValueError, match=said):
        replace(kernel, **changes)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "text").write_text("no kernel")
    np.savez(tmp_path / "other.npz", gram=np.eye(2))
    for name in ("text", "other.npz", "missing.npz"):
        with pytest.raises(ValueError, match="a file that `dph transfer` wrote"):
            AnswerKernel.load(tmp_path / name)
