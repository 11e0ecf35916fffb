"""What is claimed and what differs from the papers: sentences, each with the entries it rests on."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from dph_theory.statement.theorem import Verdict
from dph_theory.theorems import THEOREMS

from .contents import Contents
from .markup import Child, tag
from .verdicts import as_expected, reports_of
from .words import badge, linked, members


class Claim(NamedTuple):
    """A sentence, and the theorems or families it rests on."""

    text: str
    entries: tuple[str, ...]


class Difference(NamedTuple):
    """What is said, what is found here, and the entries that show it."""

    title: str
    said: str
    found: str
    entries: tuple[str, ...]


CLAIMS = (
    Claim(
        "A binary reward has no preference among correct answers: whatever never errs is optimal, and the "
        "optimiser decides. Natural policy gradient passes through the tilted models and ends at the "
        "filtered model, the base restricted to its correct answers; plain policy gradient lets the rich "
        "get richer.",
        ("A1.nearest", "A2.limit", "A2.richer", "A3.path", "A3.limit"),
    ),
    Claim(
        "KL control selects the tilted model, and one number says how far it goes: the log odds of its pass "
        "rate are the base's plus 1/beta. As beta falls the tilted model approaches the filtered one, yet "
        "its reverse KL to it is infinite at every beta, so no reverse KL can aim there.",
        ("A4.unique", "A5.validity", "A6.variation", "A6.reverse"),
    ),
    Claim(
        "In a restricted family of models the same limit can be collapse onto one answer: it is, wherever "
        "one-answer models are the family's only ones that never err, and it comes as a jump.",
        ("A10.order", "A10.collapse", "A10.jump"),
    ),
    Claim(
        "Mass-covering divergences on rehearsed correct samples repair this. The forward KL to the filtered "
        "model keeps the mass of each correct answer as well as the family can, and its value bounds the "
        "pass rate from below.",
        ("A10.coverage", "C4.filtered", "C3.anchor"),
    ),
    Claim(
        "Where prompts share a policy, training can raise pass@1 and lower pass@k; with one prompt, or a "
        "policy of its own for each, it cannot.",
        ("D3.shared", "D3.single", "D3.conditioned"),
    ),
)

DIFFERENCES = (
    Difference(
        "The improvement bound with a rehearsal divergence",
        "Theorem 1 of li2025choice adds to TRPO's bound a divergence penalty and a gain from rehearsed data.",
        "As stated it fails, under both readings of its assumption on delta, and no constant repairs it. The "
        "assumption in full is not available to us, so this concerns the statement as it can be read. In its "
        "place hold the anchor bound (C3) and the rehearsal guarantee (C4).",
        ("C2", "C3.anchor", "C4.filtered"),
    ),
    Difference(
        "A generator for Jensen-Shannon",
        "Some summaries of li2025choice print u log(u/2) - (u+1)/2 log((u+1)/2).",
        "It is no divergence: equal distributions are at -log 2. u log u - (u+1) log((u+1)/2) is one, twice "
        "the Jensen-Shannon divergence.",
        ("B2",),
    ),
    Difference(
        "What rehearsing correct samples aims at",
        "Any generator of a divergence would do on stored correct samples.",
        "On correct samples only, the gauge of f decides: -log u aims at the filtered model, k3 (and JS and "
        "alpha as printed) only at the base's own pass rate.",
        ("B3.gauge", "B3.targets", "B3.filtered"),
    ),
    Difference(
        "Tokens and sequences",
        "A divergence of sequences is the sum of those of their tokens.",
        "For the forward KL it is. For JS and alpha the sequence divergence can be larger or smaller.",
        ("B5",),
    ),
    Difference(
        "k3 as a loss",
        "Training on the k3 estimator is training with reverse KL.",
        "As a value k3 is unbiased for the reverse KL; as a loss on policy samples it descends the forward "
        "KL, and k1 descends nothing. k1 in the reward, k2, and k3 with an importance ratio do descend the "
        "reverse KL.",
        ("B6",),
    ),
    Difference(
        "alpha-divergences and coverage",
        "Mass-covering divergences keep coverage.",
        "The forward KL does in every family that holds a covering member. With alpha in (0, 1) it depends: "
        "each covering member has its own threshold.",
        ("A10.coverage", "A10.alpha", "A10.above", "A10.threshold"),
    ),
    Difference(
        "Where plain policy gradient ends",
        "The filtered model, or collapse with diverging ratios.",
        "Uniform on the base's likeliest correct answers. Only ratios to those diverge; between two others "
        "the ratio grows to a finite limit.",
        ("A2.limit", "A2.ratios"),
    ),
    Difference(
        "GRPO's iteration with a fixed reference",
        "It converges to its interior fixed point.",
        "It need not: it can jump past both, or settle on a cycle. From a pass rate of one half on it does "
        "rise without passing any.",
        ("A11.convergence", "A11.monotone"),
    ),
    Difference(
        "Which form varies less",
        "The generator form, on samples of the reference, varies less than the definition form, on samples "
        "of the policy.",
        "Neither dominates: outcomes that gained mass favour the definition form, outcomes that lost mass, "
        "as under collapse, the generator form.",
        ("B8.variance", "B8.gap"),
    ),
    Difference(
        "Pass@1 up, Pass@k down",
        "Training by reward raises pass@1 and lowers pass@k.",
        "Only where prompts share a policy can it do so.",
        ("D3.shared", "D3.single", "D3.conditioned"),
    ),
)


def claims(contents: Contents) -> list[Child]:
    """The claims with the verdicts they rest on."""
    reports = reports_of(contents)
    evidence = [_evidence(claim.entries, reports, "the contrary: ") for claim in CLAIMS]
    return [tag("ol", [tag("li", c.text, shown) for c, shown in zip(CLAIMS, evidence, strict=True)])]


def differences(contents: Contents) -> list[Child]:
    """What is said against what is found, with the counterexamples of what was refuted."""
    reports = reports_of(contents)
    lead = (
        "Each of these is an entry of the registry, checked like every other. What is called said is a "
        "published statement or a reading that is in circulation; a different reading may survive."
    )
    return [tag("p", lead), [_difference(difference, reports) for difference in DIFFERENCES]]


def in_short() -> str:
    """The differences as a list in Markdown."""
    return "".join(
        f"- {title} ({', '.join(f'`{name}`' for name in entries)}). *Said:* {said} *Found:* {found}\n"
        for title, said, found, entries in DIFFERENCES
    )


def _difference(difference: Difference, reports: Mapping[str, Any]) -> Element:
    refuted = [n for n in members(difference.entries) if THEOREMS[n].expected is Verdict.REFUTED]
    return tag(
        "article",
        tag("h3", difference.title),
        tag("p", tag("b", "Said. "), difference.said),
        tag("p", tag("b", "Found. "), linked(difference.found)),
        [_counterexample(name) for name in refuted if THEOREMS[name].note],
        _evidence(difference.entries, reports),
    )


def _counterexample(name: str) -> Element:
    return tag("p", linked(f"{name}: {THEOREMS[name].note}"), class_="note")


def _evidence(entries: Sequence[str], reports: Mapping[str, Any], refuted: str = "") -> Element:
    """The entries as links with their verdicts; `refuted` goes before those that are meant to be false."""
    items = []
    for name in members(entries):
        report = reports.get(name)
        verdict = "not checked" if report is None else report["verdict"]
        strange = report is not None and not as_expected(report)
        items.append(
            tag(
                "li",
                refuted if THEOREMS[name].expected is Verdict.REFUTED else None,
                tag("a", name, href=f"#{name}"),
                " ",
                tag("span", verdict, class_="badge") if report is None else badge(verdict),
                tag("span", " not as expected", class_="strange") if strange else None,
            )
        )
    return tag("ul", items, class_="evidence")
