"""What is claimed and what differs from the papers: sentences, each with the entries it rests on."""

from typing import NamedTuple


class Headline(NamedTuple):
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
    Headline(
        "A binary reward scores all correct answers equally, so every policy that never errs is optimal. "
        "Which correct answers survive training depends on the optimiser: the natural policy gradient ends "
        "at the filtered model, the base restricted to its correct answers; the plain one, for a single "
        "decision, on the likeliest of them.",
        ("A1.nearest", "A2.limit", "A2.richer", "A3.path", "A3.limit"),
    ),
    Headline(
        "KL control (reward minus beta times the KL to the base) ends at the tilted model, whose log odds "
        "of a correct answer are the base's plus 1/beta. As beta falls, the tilted model approaches the "
        "filtered model, but its reverse KL to it is infinite at every beta, so the filtered model cannot "
        "be a reverse-KL target.",
        ("A4.unique", "A5.validity", "A6.variation", "A6.reverse"),
    ),
    Headline(
        "Where the KL term stands decides what training selects. With the KL of the whole answer in the "
        "reward it ends at the tilted model; with a KL of each next token in the loss it ends elsewhere, "
        "and as beta falls the reverse form selects the locally filtered model, from which constrained "
        "decoding samples.",
        ("E2.stationary", "E3.local", "F1.loss"),
    ),
    Headline(
        "In a family of models that cannot hold the tilted model, the best reverse-KL fit can collapse onto "
        "one answer as beta falls. It does wherever only one-answer models never err, and the change is a "
        "jump.",
        ("A10.order", "A10.collapse", "A10.jump"),
    ),
    Headline(
        "The forward KL to the filtered model, which training on stored correct samples (rehearsal) "
        "descends, keeps the mass of each correct answer as well as the family can, and bounds the pass "
        "rate from below.",
        ("A10.coverage", "C4.filtered", "C3.anchor"),
    ),
    Headline(
        "Where prompts share a policy, training can raise Pass@1 and lower Pass@k; with one prompt, or a "
        "policy of its own for each, it cannot.",
        ("D3.shared", "D3.single", "D3.conditioned"),
    ),
)

DIFFERENCES = (
    Difference(
        "The improvement bound with a rehearsal divergence",
        "Theorem 1 of li2025choice adds a divergence penalty and a gain from rehearsed data to TRPO's bound.",
        "As stated it is false, under both readings of its assumption on delta, and no constant repairs it; "
        "the full text of the assumption is not available to us. The bounds C3 and C4 hold in its place.",
        ("C2", "C3.anchor", "C4.filtered"),
    ),
    Difference(
        "A generator for Jensen-Shannon",
        "Some summaries of li2025choice print u log(u/2) - (u+1)/2 log((u+1)/2).",
        "It is no divergence: equal distributions get -log 2. Twice the Jensen-Shannon divergence has the "
        "generator u log u - (u+1) log((u+1)/2).",
        ("B2",),
    ),
    Difference(
        "What rehearsing correct samples aims at",
        "Any generator of a divergence would do on stored correct samples.",
        "A multiple of u - 1 added to a generator changes no divergence, but it does change the target on "
        "correct samples alone: -log u aims at the filtered model; k3, and JS and alpha as li2025choice "
        "writes them, only at the base's own pass rate.",
        ("B3.gauge", "B3.targets", "B3.filtered"),
    ),
    Difference(
        "Tokens and sequences",
        "A divergence of sequences is the sum of those of their tokens.",
        "This holds for the forward KL. For JS and alpha the sequence divergence can be larger or smaller.",
        ("B5",),
    ),
    Difference(
        "k3 as a loss",
        "Training on the k3 estimator is training with reverse KL.",
        "As a value k3 is unbiased for the reverse KL; as a loss on policy samples it descends the forward "
        "KL, and k1 descends nothing. k1 in the reward, k2, and k3 with an importance ratio descend the "
        "reverse KL.",
        ("B6",),
    ),
    Difference(
        "alpha-divergences and coverage",
        "Mass-covering divergences keep coverage.",
        "The forward KL does in every family that has a covering member. With alpha in (0, 1) it depends: "
        "each covering member has its own threshold.",
        ("A10.coverage", "A10.alpha", "A10.above", "A10.threshold"),
    ),
    Difference(
        "Where plain policy gradient ends",
        "The filtered model, or collapse with diverging ratios.",
        "For one decision it ends uniform on the likeliest correct answers. Only ratios to those diverge; "
        "others grow to a finite limit. Where tokens share prefixes it can lose the likeliest answer.",
        ("A2.limit", "A2.ratios"),
    ),
    Difference(
        "GRPO's iteration with a fixed reference",
        "It converges to its interior fixed point.",
        "It can jump past the fixed points or settle on a cycle. From a pass rate of one half on, it does "
        "rise without jumping past any.",
        ("A11.convergence", "A11.monotone"),
    ),
    Difference(
        "Which form varies less",
        "A divergence estimated on samples of the reference varies less than on samples of the policy.",
        "Neither form is always better: answers that gained mass favour samples of the policy; answers that "
        "lost mass, as under collapse, favour samples of the reference.",
        ("B8.variance", "B8.gap"),
    ),
    Difference(
        "Pass@1 up, Pass@k down",
        "Training by reward raises Pass@1 and lowers Pass@k.",
        "It can do so only where prompts share a policy.",
        ("D3.shared", "D3.single", "D3.conditioned"),
    ),
    Difference(
        "k2 in the loss and k1 in the reward",
        "liu2025rethinking, as summarised (not read): the two have the same gradient.",
        "They have for answers of one token. For longer answers the loss leaves out the KL of the tokens to "
        "come, so training ends elsewhere.",
        ("F1.loss", "F1.future"),
    ),
    Difference(
        "How GRPO weighs prompts",
        "By 1/sqrt(p(1-p)), p the pass rate.",
        "That is the limit of large groups (mroueh2025grpo states it for the population deviation). At group "
        "size G the weight is at most (G-1)/sqrt(G).",
        ("F2.deviation", "E4.ends"),
    ),
    Difference(
        "The order of MaxRL",
        "tajwar2026maxrl, as summarised (not read): the objective's order is the group size G.",
        "Where groups without a correct answer are dropped and the mean is subtracted, it is G - 1.",
        ("F3.order", "E4.mean"),
    ),
    Difference(
        "One pass rate for each beta",
        "Under group normalisation training has one end, as without it.",
        "For large groups and rare successes there can be two stable pass rates at one beta.",
        ("E4.unique", "E4.constant"),
    ),
    Difference(
        "Entropy under a reward",
        "wu2025leash, as described by others (not read): an update by reward never raises entropy.",
        "It does where the base prefers a wrong answer and its mass moves to several correct ones.",
        ("F4.entropy",),
    ),
    Difference(
        "The upper clip under random rewards",
        "arXiv 2509.26114, as summarised (not read): clip-low raises and clip-high lowers entropy.",
        "Clip-high does where the policy is peaked. Where it is flat, noise lowers entropy and each clip "
        "lessens the noise.",
        ("G6.upper",),
    ),
    Difference(
        "Pass rate against entropy",
        "R = -c exp(H) + d along training (cui2025entropy, as an empirical fit).",
        "It is no law of the objective: along the tilted models entropy and pass rate can rise together.",
        ("F5.exchange",),
    ),
    Difference(
        "Reverse KL and the decay of correct answers",
        "Reverse KL actively accelerates the decay (li2025choice, its motivation).",
        "For unrestricted policies it delays the path that reward alone would take. It does speed a collapse "
        "where the model cannot follow the base; and what is lost comes back slowly on policy.",
        ("F7.decay", "A3.slower", "A10.accelerates"),
    ),
    Difference(
        "Ever fewer answers as beta falls",
        "Under misspecification the model keeps ever fewer answers (dymetman2026binary, as summarised).",
        "Pass rate and KL never fall; the number of valid answers kept can rise again.",
        ("F8.fewer", "A10.monotone"),
    ),
    Difference(
        "Group size and the path",
        "ghosh2026predictable, as its abstract can be read: the noiseless path does not depend on the group "
        "size.",
        "Where advantages are divided by the group's deviation it does, and by more than a change of clock.",
        ("F9.groups", "E4.constant"),
    ),
    Difference(
        "Policy gradients and the closest solution",
        "shenfeld2025razor, as its abstract can be read: on-policy updates are biased to the solution "
        "closest in KL to the base.",
        "Natural gradients and KL control end there; the plain softmax gradient of one decision ends on "
        "the likeliest right answers.",
        ("F10.closest", "A2.limit", "A3.limit"),
    ),
)


def in_short() -> str:
    """The differences as a list in Markdown."""
    return "".join(
        f"- {title} ({', '.join(f'`{name}`' for name in entries)}). *Said:* {said} *Found:* {found}\n"
        for title, said, found, entries in DIFFERENCES
    )
