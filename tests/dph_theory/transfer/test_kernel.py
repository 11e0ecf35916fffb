from dataclasses import replace

import numpy as np
import pytest
from support.linear_answers import gram, linear_answers

from dph_theory.support import files
from dph_theory.transfer import AnswerKernel
from dph_theory.transfer.kernel import cosines, square_root


def test_a_stored_kernel_comes_back(tmp_path):
    kernel, *_ = linear_answers()
    kernel = replace(kernel, about={"adam": 2600.0, "lora": None})
    kernel.save(tmp_path / "kernel.npz")
    found = AnswerKernel.load(tmp_path / "kernel.npz")
    assert (found.names, found.sets, found.about) == (kernel.names, kernel.sets, kernel.about)
    assert found.gradients == pytest.approx(kernel.gradients, rel=1e-6, abs=1e-7)
    assert (found.log_p == kernel.log_p).all()
    assert [each.name for each in tmp_path.iterdir()] == ["kernel.npz"]
    assert repr(found) == "AnswerKernel(3 train, 2 held out; 20 answers)"


def test_a_kernel_that_would_fill_the_memory_or_is_damaged_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "large.npz", about=np.array("{}"), gradients=np.zeros((2**10, 2**10)))
    monkeypatch.setattr(files, "_MOST_UNPACKED", 2**20)
    with pytest.raises(ValueError, match=r"large.npz.* would unpack to more than"):
        AnswerKernel.load(tmp_path / "large.npz")
    kernel, *_ = linear_answers()
    kernel.save(tmp_path / "kernel.npz")
    data = bytearray((tmp_path / "kernel.npz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "kernel.npz").write_bytes(data)
    with pytest.raises(ValueError, match=r"kernel.npz.*a file that `dph transfer` wrote"):
        AnswerKernel.load(tmp_path / "kernel.npz")


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
    products = gram(kernel)
    noise = np.random.default_rng(0).normal(size=products.shape) * np.abs(products).mean()
    np.fill_diagonal(noise, 0.0)
    noisy = products + noise + noise.T
    vectors, negative = square_root(noisy)
    assert negative > 0.01
    nearest, true, measured = map(cosines, (vectors @ vectors.T, products, noisy))
    assert np.linalg.norm(nearest - true) < np.linalg.norm(measured - true)
    exact, none = square_root(products)
    assert exact @ exact.T == pytest.approx(products, abs=1e-12)
    assert none < 1e-12


def test_a_prompt_without_a_correct_answer_moves_nobody():
    kernel, *_ = linear_answers()
    none = replace(kernel, correct=kernel.correct & (kernel.prompt != 1))
    K, rates = none.log_odds
    assert rates[1] == 0
    assert (K[1] == 0).all()
    assert K[0] == pytest.approx(np.where(np.arange(5) == 1, 0, kernel.log_odds.kernel[0]))


@pytest.mark.parametrize(("changes", "said"), [
    ({"names": ("a",) * 5}, "no name twice in a set"), ({"sets": ("train",)}, "one set for each"),
    ({"gradients": np.eye(3)}, "of 20 answers, as prompt has"),
    ({"gradients": np.full((20, 2), np.nan, np.float32)}, "finite vectors, one a row"),
    ({"prompt": np.zeros(20, int)}, "indices of all 5 prompts"),
    ({"log_p": np.zeros(20)}, "probabilities of 'prompt 0'=4.0 is not allowed: a sum of one"),
])  # fmt: skip
def test_errors(changes, said):
    kernel, *_ = linear_answers()
    with pytest.raises(ValueError, match=said):
        replace(kernel, **changes)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "text").write_text("no kernel")
    np.savez(tmp_path / "other.npz", gradients=np.eye(2))
    for name in ("text", "other.npz", "missing.npz"):
        with pytest.raises(ValueError, match="a file that `dph transfer` wrote"):
            AnswerKernel.load(tmp_path / name)
