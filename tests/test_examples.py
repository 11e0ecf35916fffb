"""The examples run as a new user runs them, and print what the theory says; so do those of docstrings."""

import doctest
import importlib
import importlib.machinery
import importlib.util
import math
import os
import re
import runpy
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from dph_theory.binary_reward import beta_for_mean_pass_rate
from dph_theory.checkpoints.cli import compare_command
from dph_theory.losses import dph_loss, generator_loss, ppo_clip_loss
from full_scale.presampling.buffer import RehearsalBuffer, RehearsalRow

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
LONGEST = {"dph_on_trl.py": 150, "verl_policy_loss.py": 130, "tour.py": 150}
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
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, env=here)
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
    assert "centred at G = 8: It is Dr. GRPO, mean of all (arXiv:2503.20783). It maximises 0.875 V" in found
    assert (
        "averaged at G = 8: It is MaxRL (arXiv:2602.02710). It maximises log V truncated at order 7" in found
    )
    assert "unbiased: an unbiased estimate of pass@k" in found
    assert "bootstrap: BIASED" in found


class ActorConfig(dict):
    """As verl 0.9.1 has it: attributes and `get`."""

    __getattr__ = dict.__getitem__


def verl_of(monkeypatch):
    """The example, run into verl's own registry of policy losses if it is installed, else into a stand-in."""
    if find_spec("verl") is None:
        registry = {}
        core = types.ModuleType("verl.trainer.ppo.core_algos")
        core.register_policy_loss = lambda name: lambda loss: registry.setdefault(name, loss)
        for name in ("verl", "verl.trainer", "verl.trainer.ppo"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        sys.modules["verl"].__spec__ = importlib.machinery.ModuleSpec("verl", None)
        monkeypatch.setitem(sys.modules, core.__name__, core)
    else:
        from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY as registry  # noqa: N811
    return registry, runpy.run_path(str(EXAMPLES / "verl_policy_loss.py"), run_name="__main__")


def test_dph_in_verl_is_ours_however_the_joined_batch_is_cut(monkeypatch, tmp_path):
    """Value and gradient of `dph_loss` of the two kinds of rows; eta and the clip are its config's."""
    registry, example = verl_of(monkeypatch)
    torch.manual_seed(0)
    stored = [RehearsalRow("a", [5, 6], [7, 8, 9], [-1.0, -2.0, -0.5]), RehearsalRow("b", [5], [7], [-0.1])]
    RehearsalBuffer.store(tmp_path, [RehearsalBuffer.from_rows(stored, {}).table], {})
    mask = (torch.arange(4) < torch.tensor([4, 3, 2, 4, 1, 4])[:, None]).long()
    batch = {"prompts": torch.ones(6, 3, dtype=torch.long), "responses": torch.ones(6, 4, dtype=torch.long)}
    batch |= {"input_ids": torch.cat([batch["prompts"], batch["responses"]], 1), "response_mask": mask}
    batch |= {"attention_mask": torch.cat([torch.ones(6, 3, dtype=torch.long), mask], 1)}
    batch |= {"position_ids": torch.arange(7).expand(6, 7), "old_log_probs": torch.randn(6, 4) - 2}
    batch |= {"advantages": torch.randn(6, 1).expand(6, 4)}
    rows = example["stored_rows"](example["read_buffer"](tmp_path / "buffer.arrow"), 4, batch, pad=0)
    assert rows["input_ids"].shape == (4, 7)
    assert {*map(tuple, rows["input_ids"].tolist())} == {(0, 5, 6, 7, 8, 9, 0), (0, 0, 5, 7, 0, 0, 0)}
    found = example["joined"](batch, rows)
    assert all(torch.isfinite(values).all() for values in found.values())
    log_pi = (found["old_log_probs"] + 0.3 * torch.randn(10, 4)).requires_grad_()
    # As verl's own losses take it: of a minibatch on two devices.
    counts = {"dp_size": 2, "batch_num_tokens": int(found["response_mask"].sum())}
    config = ActorConfig(clip_ratio=0.2, clip_ratio_low=None, clip_ratio_high=0.28, global_batch_info=counts)
    config["policy_loss"] = ActorConfig(ppo_kl_coef=0.05)
    fields = ("old_log_probs", "advantages", "response_mask", "rollout_is_weights")
    value = 0.0
    for cut in (slice(0, 3), slice(3, 4), slice(4, 10)):
        old, advantages, on, weights = (found[name][cut] for name in fields)
        given = {"advantages": advantages, "response_mask": on, "rollout_is_weights": weights}
        part, metrics = registry["dph-jensen_shannon"](old, log_pi[cut], config=config, **given)
        assert math.isfinite(metrics["actor/rehearsal"])
        value += part / 2
    of = found["rollout_is_weights"][:, 0] < 0
    again = log_pi.detach().requires_grad_()
    on = found["response_mask"].bool()
    parts = (again[~of], found["old_log_probs"][~of], found["advantages"][~of], on[~of])
    rehearsed = generator_loss("jensen_shannon", again[of] - found["old_log_probs"][of], on[of])
    ours = dph_loss(ppo_clip_loss(*parts, clip_low=0.2, clip_high=0.28), rehearsed, 0.05)
    value.backward()
    ours.backward()
    assert value.item() == pytest.approx(ours.item(), rel=1e-5)
    torch.testing.assert_close(log_pi.grad, again.grad)
    with pytest.raises(ValueError, match="token-mean, of rows that `joined` has weighed"):
        registry["dph-forward_kl"](log_pi, log_pi, log_pi, on, config=config)
    with pytest.raises(ValueError, match="rollout_is_weights: none of verl's own"):
        example["joined"](found, rows)


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
    assert "It has the gradient of the forward KL(ref||pi) of each token" in plain
    assert "Its value, the number logged, estimates the reverse KL(pi||ref)." in plain
    assert "It has the gradient of the reverse KL(pi||ref) of each token" in weighted


@pytest.mark.parametrize("target", [0.8, 0.5])
def test_beta_reaches_the_target_at_the_least_cost(said, target):
    found = said("choose_beta.py", str(target))
    beta = float(beta_for_mean_pass_rate([0.02, 0.1, 0.3, 0.6, 0.9], target))
    assert f"beta = {beta:.4f} gives a mean pass rate of {target:.4f}" in found
    each, one = (float(x) for x in re.findall(r"costs ([\d.]+)", found))
    assert 0 < one < each


def test_two_checkpoints_of_the_demo_show_what_grpo_lost(said):
    found = said("two_checkpoints.py")
    first, last = (
        re.search(rf"Pass@{k} (?:goes )?from ([\d.]+) to ([\d.]+)", found).groups() for k in (1, 32)
    )
    assert float(first[0]) < float(first[1])
    assert float(last[0]) > float(last[1])
    assert "Pass@16 falls by" in found
    assert found.count(" -> ") == 5


def test_a_stored_comparison_is_drawn(said, tmp_path):
    stored, drawing = tmp_path / "found.json", tmp_path / "pass_at_k.svg"
    words = [str(EXAMPLES / "counts" / f"{name}.jsonl") for name in ("base", "grpo")]
    assert CliRunner().invoke(compare_command, [*words, "--json", str(stored)]).exit_code == 0
    said("draw_comparison.py", str(stored), str(drawing))
    assert 'width="486pt"' in drawing.read_text()


@pytest.mark.slow
def test_the_meter_splits_the_kl_of_a_trl_run():
    lines = output("collapse_meter.py").splitlines()
    steps = [dict(zip(w[::2], map(float, w[1::2]), strict=True)) for w in map(str.split, lines)]
    assert len(steps) == 8
    assert steps[0]["kl"] == pytest.approx(0, abs=1e-3)
    assert all(s["kl"] == pytest.approx(s["cost"] + s["excess_kl"], abs=2e-3) for s in steps)
    # It learns within eight steps, and pays for more than the pass rate.
    assert steps[-1]["pass_rate"] > steps[0]["pass_rate"]
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
    assert "found = compare(" in blocks[1]
