from dph_theory.statement.charts import as_floats
from dph_theory.theorems import f05_exchange


def test_validity_and_entropy_rise_together_at_first():
    instance = as_floats(f05_exchange.THEOREM.examples[0])
    product, none = f05_exchange.THEOREM.sides(instance)
    assert product > 0.01
    assert none == 0
