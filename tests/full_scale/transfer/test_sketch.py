import pytest
import torch

from full_scale.transfer.sketch import Sketch


def gradients(count=2):
    generator = torch.Generator().manual_seed(0)
    shapes = ((30, 50), (1700,), (11, 7))
    return [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(count)]


def product(first, second):
    return sum(float((a * b).sum()) for a, b in zip(first, second, strict=True))


def test_inner_products_are_kept_on_average_and_within_the_bound():
    x, y = gradients()
    y = [b + 0.5 * a for a, b in zip(x, y, strict=True)]
    size, seeds = 256, 400
    found = torch.tensor([float(of(x) @ of(y)) for of in (Sketch(size, seed) for seed in range(seeds))])
    exact, bound = product(x, y), (product(x, x) * product(y, y) + product(x, y) ** 2) / size
    assert float(found.mean()) == pytest.approx(exact, abs=5 * (bound / seeds) ** 0.5)
    assert 0.5 * bound < float(found.var()) < 1.2 * bound


def test_what_pieces_have_in_common_does_not_add_up():
    # Every piece the same: were two of them turned alike, their products would be counted.
    piece = torch.randn(64, generator=torch.Generator().manual_seed(1))
    x = [piece.repeat(40)]
    exact = product(x, x)
    found = torch.tensor([float(of(x) @ of(x)) for of in (Sketch(64, seed) for seed in range(300))])
    assert float(found.mean()) == pytest.approx(exact, rel=0.1)


def test_a_sketch_is_linear_and_the_same_for_everyone():
    x, y = gradients()
    one, two = Sketch(128, 3), Sketch(128, 3)
    assert (one(x) == two(x)).all()
    both = one([a + 2 * b for a, b in zip(x, y, strict=True)])
    assert both == pytest.approx(one(x) + 2 * one(y), rel=1e-4, abs=1e-4)
    assert len(one(x)) == 128
