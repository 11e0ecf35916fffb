import numpy as np
import pytest
import torch
from support.tiny_styles_base import base, rehearsed

from toy_lm.styles.evaluate import KS, at_the_end, on_the_way, yardstick
from toy_lm.styles.samples import draw, stream
from toy_lm.styles.transformer import ResponseDistribution, pass_rates


def measures():
    task, _, law = base()
    return yardstick(law, task, task.train), yardstick(law, task, rehearsed()[0])


def committed(law, sharpness):
    """The law with its styles sharpened, a collapse of the kind that training brings."""
    style = (sharpness * law.style).log_softmax(dim=-1)
    return ResponseDistribution(style, law.tens, law.ones)


def test_the_base_measured_against_itself():
    task, _, law = base()
    train, kept = measures()
    end, point = at_the_end(law, train), on_the_way(law, train, kept)
    assert (end["retention"], end["exploration"]) == (1, 0)
    assert end["base_solved"] + end["base_unsolved"] == 192
    assert abs(point["excess"]) < 1e-14
    # E_{p_*} log(p_*/a) = -log A1: the guarantee is met with equality by the base itself.
    assert point["guarantee"] == pytest.approx(point["rehearsed_pass"], abs=1e-13)
    # Pass@k is the mean over prompts.
    rates = pass_rates(law, task)[task.train].numpy()
    np.testing.assert_allclose(end["pass_at_k"], [np.mean(1 - (1 - rates) ** k) for k in KS], atol=1e-13)


def test_styles_over_32_samples_agree_with_drawing_them():
    task, _, law = base()
    train, _ = measures()
    end = at_the_end(law, train)
    order = task.train.repeat_interleave(32)
    drawn = draw(law, law, task, order, stream(0, "groups")).responses[:, 0].view(-1, 32)
    present = (drawn[:, :, None] == torch.arange(5)).any(dim=1).double().sum(dim=1)
    # Means over 192 prompts.
    assert end["distinct_styles"] == pytest.approx(present.mean().item(), abs=0.15)
    counts = torch.bincount(drawn.flatten(), minlength=5) / 192
    np.testing.assert_allclose(end["style_histogram"], counts, atol=0.6)
    assert sum(end["style_histogram"]) == pytest.approx(32, abs=1e-12)


def test_a_collapse_shows_in_every_measure():
    _, _, law = base()
    train, kept = measures()
    before, after = (on_the_way(of, train, kept) for of in (law, committed(law, 30.0)))
    assert after["pass_at_16"] < before["pass_at_16"] - 0.05
    assert after["excess"] > before["excess"] + 0.5
    assert after["guarantee"] < after["rehearsed_pass"] - 0.1
    ends = [at_the_end(of, train) for of in (law, committed(law, 30.0))]
    assert ends[1]["style_entropy"] < 0.5 < ends[0]["style_entropy"]
    assert ends[1]["distinct_styles"] < ends[0]["distinct_styles"] - 1


@pytest.mark.parametrize("sharpness", [0.0, 0.5, 5.0])
def test_the_guarantee_holds_prompt_by_prompt(sharpness):
    found = measures()[1].retained(committed(base()[2], sharpness))
    assert (found.guarantee <= found.rate + 1e-14).all()
    assert (found.guarantee < found.rate - 1e-3).any()


def test_retention_and_exploration_count_prompts():
    task, _, law = base()
    train, _ = measures()
    assert at_the_end(law, train)["base_unsolved"] > 0
    # A policy that answers every prompt with certainty, one accepted response each.
    task_first = task.valid.float().argmax(dim=1)
    style, tens, ones = (torch.full_like(part, -1e4) for part in law)
    path = (torch.arange(256), task_first // 100, task_first // 10 % 10, task_first % 10)
    style[path[:2]], tens[path[:3]], ones[path] = 0.0, 0.0, 0.0
    perfect = ResponseDistribution(*(part.log_softmax(dim=-1) for part in (style, tens, ones)))
    end = at_the_end(perfect, train)
    assert (end["retention"], end["exploration"], end["pass_at_k"][0]) == (1.0, 1.0, 1.0)
    assert end["style_entropy"] == 0
    # Where the base solves all there is nothing to explore.
    everything = train._replace(valid=np.ones_like(train.valid) & (np.arange(500) != 0))
    assert "exploration" not in at_the_end(law, everything)
