import json

import pytest

pytest.importorskip("reasoning_gym")


@pytest.mark.slow
def test_a_score_counts_from_its_threshold_on():
    import reasoning_gym

    from full_scale.tasks.verifiers.gym_judge import judge

    source = {"dataset": "chain_sum", "seed": 3, "size": 2, "arguments": {}}
    entry = reasoning_gym.create_dataset("chain_sum", size=2, seed=3)[1]
    job = {"source": json.dumps(source), "entry": 1, "threshold": 1.0}
    assert judge({**job, "answer": entry["answer"]}) == {"outcome": "correct"}
    assert judge({**job, "answer": entry["answer"] + "1"}) == {"outcome": "wrong"}
