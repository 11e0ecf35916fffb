"""Simulated runs by account: what decides which correct answer a run is left with."""

import numpy as np

PROMPTS, STYLES, RUNS, PLACES = 60, 5, 8, 10


def world(rng):
    """Which strategies are right, and a base with a policy of its own on each prompt."""
    right = rng.random((PROMPTS, STYLES)) < 0.6
    right[:, 0] = True
    base = rng.dirichlet(np.ones(STYLES), PROMPTS)
    return right, base * right / (base * right).sum(axis=1, keepdims=True)


def policies(account, right, base, rng):
    """The policy of a run on each prompt, by account."""
    if account == "kept":
        return base
    if account == "likeliest":
        return np.eye(STYLES)[base.argmax(axis=1)]
    if account == "a lottery a prompt":
        return np.eye(STYLES)[[rng.choice(STYLES, p=p) for p in base]]
    return np.eye(STYLES)[np.full(PROMPTS, rng.integers(STYLES))]


def answered(policy, right, rng, places=PLACES):
    """Rows of answers drawn from a policy: prompt, verdict, what was said, by which strategy."""
    rows = []
    for i, p in enumerate(policy):
        said = rng.choice(STYLES, places, p=p)
        verdicts = right[i, said].astype(int).tolist()
        rows.append(
            {
                "id": f"p{i}",
                "correct": verdicts,
                "answer": [f"{i}:{s}" for s in said],
                "style": [f"s{s}" for s in said],
            }
        )
    return rows


def runs_of(account, seed=0):
    rng = np.random.default_rng(seed)
    right, base = world(rng)
    rows = [answered(policies(account, right, base, rng), right, rng) for _ in range(RUNS)]
    return answered(base, right, rng), rows
