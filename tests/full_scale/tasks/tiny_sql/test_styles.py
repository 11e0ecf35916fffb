import pytest

from full_scale.tasks.tiny_sql.styles import STYLES, style_of, written


@pytest.mark.parametrize("style", STYLES)
def test_what_is_written_in_a_style_is_of_that_style(style):
    assert style_of(written(style, "patient", "visits WHERE shift <> 'night' AND age > 19")) == style


@pytest.mark.parametrize(
    ("sql", "style"),
    [
        ("select count(*) from t", "count_star"),
        ("SELECT COUNT(*) AS n FROM t;", "count_star"),
        ("SELECT\n  COUNT( * )\nFROM t -- COUNT(DISTINCT x)", "count_star"),
        ("SELECT COUNT(*) FROM t WHERE x = 'SUM(CASE'", "count_star"),
        ("SELECT COUNT(*) FROM t WHERE x IN (SELECT y FROM s)", "count_star"),
        ("SELECT COUNT(*) FROM t JOIN s ON t.a = s.a", "count_star"),
        ('SELECT COUNT("a b") FROM t', "count_column"),
        ("SELECT COUNT([a]) FROM t", "count_column"),
        ("SELECT /* all */ count(t.a) FROM t", "count_column"),
        ("SELECT COUNT(DISTINCT t.a) FROM t", "count_distinct"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT a FROM t) AS k", "subquery"),
        ("SELECT COUNT(*) FROM ( SELECT a FROM t GROUP BY a )", "subquery"),
        ("WITH k AS (SELECT DISTINCT a FROM t) SELECT COUNT(*) FROM k", "subquery"),
        ("WITH k AS (SELECT DISTINCT a FROM t) SELECT COUNT(DISTINCT a) FROM k", "count_distinct"),
        ("SELECT SUM(CASE WHEN a IS NULL THEN 0 ELSE 1 END) FROM t", "sum_case"),
        ("SELECT sum( case a when 'x' then 1 else 0 end ) FROM t", "sum_case"),
    ],
)
def test_style_by_structure(sql, style):
    assert style_of(sql) == style


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "hello",
        "SELECT",
        "SELECT COUNT(*)",
        "SELECT COUNT(*) FROM",
        "SELECT a FROM t",
        "SELECT COUNT(*), a FROM t",
        "SELECT COUNT(*) + 1 FROM t",
        "SELECT COUNT() FROM t",
        "SELECT COUNT(DISTINCT) FROM t",
        "SELECT COUNT(a b) FROM t",
        "SELECT MAX(a) FROM t",
        "SELECT SUM(a) FROM t",
        "SELECT COUNT(*) FROM t; SELECT COUNT(a) FROM t",
        "SELECT COUNT(*) FROM t)",
        "SELECT COUNT(* FROM t",
        "SELECT COUNT(*) FROM t WHERE a = 'open",
        "DELETE FROM t",
        "EXPLAIN SELECT COUNT(*) FROM t",
        "FROM t SELECT COUNT(*)",
        "SELECT COUNT(*) FROM t UNION SELECT COUNT(a) FROM t",
        "SELECT 'COUNT(*)' FROM t",
        '"SELECT" COUNT(*) FROM t',
    ],
)
def test_what_has_no_style(sql):
    assert style_of(sql) is None
