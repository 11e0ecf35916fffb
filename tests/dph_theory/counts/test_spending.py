import numpy as np
from support.sampled_counts import covers

from dph_theory import excess_kl
from dph_theory.counts import Pairs
from dph_theory.counts.rows import row
from dph_theory.counts.spending import spending

BASE = np.array([0.15, 0.1, 0.45, 0.3])
RUN = np.array([0.3, 0.25, 0.25, 0.2])
VALID = np.array([True, True, False, False])


def drawn(rng, prompts=40, n=20, verdicts=True):
    """Rows of answers drawn from the run, and counts of the base."""
    rows = []
    for i in range(prompts):
        answers = rng.choice(4, n, p=RUN)
        verdict = {"correct": VALID[answers].astype(int).tolist()} if verdicts else {}
        ratio = np.log(RUN / BASE)[answers].tolist()
        rows.append(row({"id": i, "n": n, "c": int(VALID[answers].sum()), "log_ratio": ratio, **verdict}))
    base_c = rng.binomial(n, BASE[VALID].sum(), prompts)
    return rows, Pairs.of(n, base_c, n, [r.c for r in rows])


def test_the_total_and_its_parts_cover_the_decomposition():
    truth, rng, trials, inside = excess_kl(RUN, BASE, VALID), np.random.default_rng(0), 60, []
    wanted = (truth.total, truth.validity, truth.excess, truth.valid, truth.invalid)
    for _ in range(trials):
        found = spending(*drawn(rng))
        given = (found.total, found.least, found.excess, found.correct, found.incorrect)
        inside.append([e.low <= w <= e.high for e, w in zip(given, wanted, strict=True)])
    for share in np.mean(inside, axis=0):
        assert covers(share, 0.95, trials, slack=0.01)


def test_without_verdicts_there_are_no_parts_and_without_log_ratios_nothing():
    rows, pairs = drawn(np.random.default_rng(1), prompts=5, verdicts=False)
    found = spending(rows, pairs)
    assert found.correct is None
    plain = [row({"id": r.id, "n": r.n, "c": r.c}) for r in rows]
    assert spending(plain, pairs) is None


def test_prompts_whose_base_rate_is_not_known_are_left_out_and_counted():
    rows = [row({"id": i, "n": 4, "c": 2, "kl": 0.5}) for i in range(3)]
    found = spending(rows, Pairs.of(4, [0, 2, 1], 4, 2))
    assert (found.prompts, found.left_out) == (2, 1)
