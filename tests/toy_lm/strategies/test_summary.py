from dataclasses import replace

from toy_lm.strategies.config import Config
from toy_lm.strategies.results import Block
from toy_lm.strategies.summary import by_alpha, directions, meter

CONFIG = replace(
    Config(),
    conditionings=(0.1, 1.0),
    strengths=(0.5, 1.0),
    alphas=(0.5, 0.9),
    rises=(0.1, 0.2),
)
NEVER = ((None, None), (None, None))


def block(
    divergence, place, first, alpha=None, conditioning=(0.1, 1.0), coverage=NEVER, warned=(NEVER, NEVER)
):
    return Block(
        divergence=divergence,
        alpha=alpha,
        place=place,
        conditioning=conditioning,
        strength=(0.5, 1.0),
        pass_at_1=((first / 2, first / 2), (0.0, 0.0))[: len(conditioning)],
        pass_at_k=((first, first + 0.1), (0.0, 0.0))[: len(conditioning)],
        coverage_step=coverage[: len(conditioning)],
        meter_step=tuple(steps[: len(conditioning)] for steps in warned),
    )


BLOCKS = [
    block(None, None, 0.1),
    *(
        entry
        for place, shift in (("D_pef", 0.0), ("all prompts", 0.05))
        for entry in (
            block("forward_kl", place, 0.8 + shift),
            block("jensen_shannon", place, 0.7 + shift),
            block("alpha_0.5", place, 0.6 + shift, alpha=0.5),
            block("reverse_kl", place, 0.3 + 2 * shift),
            block("alpha_0.9", place, 0.75 + shift, alpha=0.9, conditioning=(0.1,)),
        )
    ),
]


def test_directions_are_compared_at_the_configured_conditioning():
    rows = directions(CONFIG, BLOCKS)
    assert [(row.place, row.strength) for row in rows] == [
        ("D_pef", 0.5),
        ("D_pef", 1.0),
        ("all prompts", 0.5),
        ("all prompts", 1.0),
    ]
    assert rows[0].pass_at_k == {"forward KL": 0.8, "JS": 0.7, "alpha": 0.6, "reverse KL": 0.3}
    assert rows[0].gap == 0.5
    assert abs(rows[2].gap - 0.45) < 1e-12


def test_alpha_runs_from_the_reverse_to_the_forward_kl():
    assert by_alpha(CONFIG, BLOCKS, 0.5, "D_pef") == {0.0: 0.3, 0.5: 0.6, 0.9: 0.75, 1.0: 0.8}
    assert list(by_alpha(CONFIG, BLOCKS, 1.0, "D_pef")) == [0.0, 0.5, 0.9, 1.0]


def test_the_meter_counts_warnings_leads_and_false_alarms():
    falls = ((100, 60), (None, None))
    early, late = ((80, 10), (5, None)), ((None, 70), (None, None))
    rows = meter(CONFIG, [block("forward_kl", "D_pef", 0.5, coverage=falls, warned=(early, late))])
    found = [(row.rise, len(row.leads), len(row.fallen), row.warned_before, row.false_alarms) for row in rows]
    assert found == [(0.1, 4, 2, 2, 1), (0.2, 4, 2, 0, 0)]
    assert [row.steps_ahead for row in rows] == [[20, 50], [-10]]
