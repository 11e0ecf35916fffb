"""The examples run as a new user runs them, and print what the theory says; so do those of docstrings."""

import doctest
import importlib
import importlib.machinery
import importlib.util
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

from dph_theory import beta_for_mean_validity
from dph_theory.losses import dph_loss, generator_loss, ppo_clip_loss

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
LONGEST = {"dph_on_trl.py": 150, "tour.py": 150}
"""A page to copy whole, whose tests are those of full_scale's training; and the cells of a notebook."""
PACKAGES = ("dph_theory", "toy_lm", "full_scale", "figures")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
WITH_EXAMPLES = [path for path in SOURCES if "    >>> " in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_examples_of_docstrings_are_true(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def output(name):
    """What an example prints, in a process of its own."""
    here = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False, env=here
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def said(capsys, monkeypatch):
    """The same in this process, which has loaded already what an example needs."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_they_are_short_and_each_is_tried_here():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < LONGEST.get(path.name, 50)
        assert path.name in Path(__file__).read_text(), path.name


def test_advantages_and_metrics_are_told_apart(said):
    found = said("audit_your_own_advantage.py") + said("audit_your_own_metric.py")
    assert "centred at G = 8: It maximises 0.875 V" in found
    assert "averaged at G = 8: It maximises log V truncated at order 7" in found
    assert "unbiased: an unbiased estimate of pass@k" in found
    assert "bootstrap: BIASED" in found


def verl_of(monkeypatch):
    """A stand-in of verl with its registry of policy losses, into which the example is run."""
    registry = {}
    core = types.ModuleType("verl.trainer.ppo.core_algos")
    core.register_policy_loss = lambda name: lambda loss: registry.setdefault(name, loss)
    for name in ("verl", "verl.trainer", "verl.trainer.ppo"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["verl"].__spec__ = importlib.machinery.ModuleSpec("verl", None)
    monkeypatch.setitem(sys.modules, core.__name__, core)
    runpy.run_path(str(EXAMPLES / "verl_policy_loss.py"), run_name="__main__")
    return registry["dph"]


def test_the_loss_registered_with_verl_is_ours_on_the_same_tensors(monkeypatch, capsys):
    """Value and gradient of `dph_loss` of the two kinds of rows, whatever their order in the batch."""
    loss = verl_of(monkeypatch)
    torch.manual_seed(0)
    log_pi = torch.randn(6, 5).log_softmax(dim=1)
    log_old = log_pi + 0.3 * torch.randn(6, 5)
    mask = torch.arange(5) < torch.tensor([5, 3, 4, 2, 5, 1])[:, None]
    advantages = torch.tensor([1.0, torch.nan, -0.5, torch.nan, 0.2, -1.0])
    stored = advantages.isnan()
    found, expected = log_pi.clone().requires_grad_(), log_pi.clone().requires_grad_()
    value, metrics = loss(log_old, found, advantages[:, None].expand(6, 5), mask.float())
    parts = (expected[~stored], log_old[~stored], advantages[~stored], mask[~stored])
    rehearsed = generator_loss("forward_kl", (expected - log_old)[stored], mask[stored])
    ours = dph_loss(ppo_clip_loss(*parts, clip_low=0.2, clip_high=0.28), rehearsed, 0.05)
    for each in (value, ours):
        each.backward()
    assert value.item() == ours.item()
    assert torch.equal(found.grad, expected.grad)
    assert metrics == {"actor/rehearsal": pytest.approx(rehearsed.item())}
    only = advantages.isnan()
    value, _ = loss(log_old[only], log_pi[only], advantages[only, None].expand(2, 5), mask[only])
    assert value.item() == pytest.approx(0.05 * rehearsed.item())
    with pytest.raises(ValueError, match="token-mean"):
        loss(log_old, log_pi, log_pi, mask, "seq-mean-token-sum")


@pytest.mark.slow
def test_the_installed_trainer_s_flag_decides_the_divergence():
    found = [line for line in output("audit_your_own_trainer.py").splitlines() if "samples:" in line]
    plain, corrected, halved = found
    assert "the reward's policy gradient plus 0.04 times the forward KL(ref||pi)" in plain
    assert "the reward's policy gradient plus 0.04 times the reverse KL(pi||ref)" in corrected
    assert halved.startswith("use_bias_correction_kl=True: Halved")
    assert "0.5 times the reward's policy gradient plus 0.02 times the reverse KL(pi||ref)" in halved


def test_the_audit_tells_the_two_penalties_apart(said):
    plain, weighted = (line for line in said("audit_your_own_loss.py").splitlines() if "samples:" in line)
    assert "It descends the forward KL(ref||pi) of each token" in plain
    assert "Its value, the number logged, estimates the reverse KL(pi||ref)." in plain
    assert "It descends the reverse KL(pi||ref) of each token" in weighted


@pytest.mark.parametrize("target", [0.8, 0.5])
def test_beta_reaches_the_target_at_the_least_cost(said, target):
    found = said("choose_beta.py", str(target))
    beta = float(beta_for_mean_validity([0.02, 0.1, 0.3, 0.6, 0.9], target))
    assert f"beta = {beta:.4f} gives a mean pass rate of {target:.4f}" in found
    each, one = (float(x) for x in re.findall(r"costs ([\d.]+)", found))
    assert 0 < one < each


def test_two_checkpoints_of_the_demo_show_what_grpo_lost(said):
    found = said("two_checkpoints.py")
    first, last = (
        re.search(rf"Pass@{k} (?:goes )?from ([\d.]+)% to ([\d.]+)%", found).groups() for k in (1, 32)
    )
    assert float(first[0]) < float(first[1])
    assert float(last[0]) > float(last[1])
    assert "Pass@16 falls by" in found
    assert found.count(" -> ") == 5


@pytest.mark.slow
def test_the_meter_splits_the_kl_of_a_trl_run():
    lines = output("collapse_meter.py").splitlines()
    steps = [dict(zip(w[::2], map(float, w[1::2]), strict=True)) for w in map(str.split, lines)]
    assert len(steps) == 8
    assert steps[0]["kl"] == pytest.approx(0, abs=1e-3)
    assert all(s["kl"] == pytest.approx(s["cost"] + s["excess_kl"], abs=2e-3) for s in steps)
    # It learns within eight steps, and pays for more than the pass rate.
    assert steps[-1]["validity"] > steps[0]["validity"]
    assert steps[-1]["excess_kl"] > 0.1


@pytest.mark.slow
def test_the_tour_s_five_pictures_are_a_page_of_the_site(monkeypatch):
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site.py")
    hooks = importlib.util.module_from_spec(spec)
    for name in ("mkdocs", "mkdocs.structure", "mkdocs.structure.files"):  # in the extra docs
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(File=None))
    spec.loader.exec_module(hooks)
    made = hooks.tour()
    page = made.pop("tour.md")
    pictures = [f"img/tour-{number}.png" for number in range(1, 6)]
    assert list(made) == pictures == re.findall(r"!\[\]\((.*?)\)", page)
    assert all(content.startswith(b"\x89PNG") and len(content) > 10_000 for content in made.values())
    assert page.startswith("# Five pictures")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 7
    assert "found = confront(" in blocks[1]
