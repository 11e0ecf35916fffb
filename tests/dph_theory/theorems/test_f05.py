from dph_theory.statement.charts import as_floats
from dph_theory.theorems import f05


def test_validity_and_entropy_rise_together_at_first():
    instance = as_floats(f05.EXCHANGE.examples[0].parts)
    product, none = f05.EXCHANGE.sides(instance)
    assert product > 0.01
    assert none == 0
