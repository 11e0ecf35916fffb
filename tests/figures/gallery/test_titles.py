"""What the titles of the figures claim is so in the numbers that are drawn."""

import numpy as np
import pytest
from support.drawing_checks import stored

from figures.catalogue import NAMES, figure
from figures.gallery.luck_or_time import CAUSES


def laws(found):
    return all(row.kl.argmin() == row.own for row in found.matrix)


def way_back(found):
    rows = figure("way_back").table(found).rows
    return all(late is None or late > 1 for _, _, *both, _, _, _ in rows for late in both)


def budget_and_family(found):
    ends = [end for end in found.ends if end.objective == "sequence_kl" and end.kl is not None]
    least = min(end.beta for end in ends)
    small = [end.kl for end in ends if end.beta == least and end.rank == 1]
    short = [
        e.kl for e in ends if e.beta == least and (e.rank, e.steps) == (None, min(x.steps for x in ends))
    ]
    return min(small + short) > 0.02


def lottery(found):
    return all(s.interval[0] <= s.predicted <= s.interval[1] for s in found.settings)


def luck_or_time(found):
    total = {cause: sum(misses.counts.get(cause, 0) for misses in found.misses) for cause in CAUSES}
    told = total["time"] + total["luck"] + total["luck beyond first order"]
    return total["unexplained"] < 0.1 * told


def atlas(found):
    kept = [row.selects for row in found.rows]
    return kept.count("one answer") > len(kept) / 2 > 2 * kept.count("base's proportions")


def direction(found):
    strengths = sorted({row.strength for row in found.rows} - {None})
    moved = [r for r in found.rows if r.strength and r.against[0].high < -0.005 and r.against[1].low > 0.05]
    weak = {row.method for row in moved if row.strength == strengths[0]}
    strong = {row.method for row in moved if row.strength == strengths[-1]}
    return weak == {"RKL", "DPH-F"} and strong == {r.method for r in found.rows if r.strength}


def filtering(found):
    return all((np.diff(of.local_to_filtered) > 0).all() for of in found.grammars.values())


def mu_beta(found):
    return found.policies.excess.min() > 0


def tilted_to_filtered(found):
    return found.forward[0] < 1e-6 and np.isinf(found.reverse).all()


def implicit_bias(found):
    plain, natural = (found.flows[kind].shares for kind in ("plain", "natural"))
    return plain[:, -1].max() > 0.9 and natural[:, -1] == pytest.approx(natural[:, 0])


def forward_reverse_fits(found):
    reverse, forward = (np.array(found.fits[name].shares) for name in ("reverse", "forward"))
    return reverse.max() > 0.99 and (forward > 0.5 * np.array(found.target_shares)).all()


def collapse(found):
    small = next(family for family in found.families if family.name == "homogeneous")
    forward, reverse = small.alpha, small.optima
    more = (
        forward.entropy[-1] > 1 > 0.01 > reverse.entropy[-1] and forward.coverage[-1] > reverse.coverage[-1]
    )
    return more and forward.validity[-1] < reverse.validity[-1]


def pass_at_k(found):
    strong = found.strategies[0]
    last = {name: curve[strong.k.index(16)] for name, curve in strong.curves.items()}
    kept = all(last[name] > last["base"] > last["GRPO"] for name in last if name not in ("base", "GRPO"))
    at = found.styles.k.index(16)
    for changes in found.styles.changes.values():
        change = {name: of.mean[at] for name, of in changes.items()}
        kept &= changes["DAPO"].high[at] < 0 and min(change[n] for n in ("RKL", "DPH-F", "DPH-JS")) > -0.1
    return kept


def styles(found):
    lost = {name: of.distinct.mean for name, of in found.methods.items()}
    anchored = [value for name, value in lost.items() if name not in ("base", "GRPO", "DAPO")]
    return found.methods["DAPO"].distinct.high < 4 and min(anchored) > lost["base"] - 0.25


def sweeps(found):
    rows = [row for row in figure("sweeps").table(found).rows if row[0] == "strategies"]
    differ = [float(strength) for _, strength, spread, *_ in rows if spread > 0.03]
    return max(differ) < 0.3 and rows[-1][-1] < -0.1


def keep_and_explore(found):
    kept = {name: of["train"]["retention"].mean for name, of in found.methods.items()}
    anchored = [share for name, share in kept.items() if name not in ("GRPO", "DAPO")]
    return kept["DAPO"] == pytest.approx(2 / 3, abs=0.05) and min(anchored) > 0.85


def training_curves(found):
    first = min(lead.meter_step for lead in found.leads)
    ends = [found.styles.curves[name] for name in ("GRPO", "DAPO")]
    early = [(of.excess_kl.mean[3], of.pass_at_k.mean[3] - of.pass_at_k.mean[0]) for of in ends]
    fallen = all(of.pass_at_k.mean[-1] < of.pass_at_k.mean[0] for of in ends)
    return first < found.leads[0].coverage_step and fallen and all(e > 0.1 and p > -0.005 for e, p in early)


def bounds(found):
    path = found.path
    return (path.stated - path.truth).max() > 0.1 and (path.anchor - path.truth).max() < 1e-9


def what_your_kl_does(found):
    return sum(row.value.name != row.gradient.name for row in found.rows) > len(found.rows) / 3


def what_your_advantage_weighs(found):
    ends = {(w.advantage, w.group_size): (w.weight[0], w.weight[-1]) for w in found.weights}
    rare, often = ends["GRPO, sample deviation", 8]
    steep = [ends[name, 8] for name in ("MaxRL", "PKPO, k = 4")]
    return rare == pytest.approx(often) and all(first > 3 * last for first, last in steep)


def published(found):
    rows = [*found.published_changes.values(), *found.changes.values()]
    return all(
        min(of["DPH-F"].mean, of["DPH-JS"].mean) > max(of["GRPO"].mean, of["DAPO"].mean) for of in rows
    )


def theory_against_training(found):
    mass = next(block for block in found.predictions if block.name == "rehearsed mass")
    checks = {point.verdict for block in found.checks for point in block.points}
    return checks == {"consistent"} and min(point.margins for point in mass.points) > 1


CLAIMS = {
    "laws": (laws, "Where the KL penalty stands decides at which law training ends"),
    "way_back": (way_back, "Lost answers come back soon by rehearsal, late by a penalty"),
    "budget_and_family": (budget_and_family, "too small a family and too short a training miss the tilted"),
    "lottery": (lottery, "luck alone drives equal right answers apart, as far as predicted"),
    "luck_or_time": (luck_or_time, "a missed law is luck or too short a training, seldom unexplained"),
    "atlas": (atlas, "Most published methods keep one right answer alone, few the base's proportions"),
    "direction": (
        direction,
        "Every strong anchor buys Pass@16 with Pass@1; of the weak ones RKL and DPH-F do",
    ),
    "filtering": (filtering, "Filtering tokens strays from filtering answers, the further the longer"),
    "mu_beta": (mu_beta, "Each pass rate has a least KL, and only tilted models attain it"),
    "tilted_to_filtered": (tilted_to_filtered, "approaches the filtered one, but not in reverse KL"),
    "implicit_bias": (implicit_bias, "Which valid answers survive depends on the gradient"),
    "forward_reverse_fits": (forward_reverse_fits, "reverse KL takes one mode, forward KL spreads over all"),
    "collapse": (collapse, "reverse KL keeps one word; forward KL keeps more, and errs"),
    "pass_at_k": (pass_at_k, "Pass@k falls below the base's as k grows; a strong one keeps most of it"),
    "styles": (styles, "DAPO, without an anchor, drops styles; strong anchors keep nearly all"),
    "sweeps": (sweeps, "Divergences differ where the anchor is weak; a strong one on all prompts costs"),
    "keep_and_explore": (keep_and_explore, "keeps what the base solves; without an anchor about a third is"),
    "training_curves": (training_curves, "Under GRPO and DAPO excess KL rises before Pass@k falls"),
    "bounds": (bounds, "improvement bound exceeds the truth; its replacement does not"),
    "what_your_kl_does": (what_your_kl_does, "estimates is often not what its gradient descends"),
    "what_your_advantage_weighs": (what_your_advantage_weighs, "rare and frequent success alike; MaxRL and"),
    "published": (published, "DPH methods lose less of what the base solves than GRPO and DAPO"),
    "theory_against_training": (theory_against_training, "rehearsed mass ends above what is foreseen"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_title_claims_what_the_numbers_drawn_say(name):
    claim, words = CLAIMS[name]
    assert words in figure(name).title
    assert claim(stored(name))
