from statistics import fmean

from figures.report import guide, repairs


def test_goals_lead_to_the_methods_that_keep_them():
    stored = guide.stored_records()
    page = repairs.repairs(stored)
    kept = page.split("## Keep the base's proportions")[1].split("\n\nOn trees")[0]
    even = page.split("## Spread evenly")[1].split("\n\nAn entropy bonus")[0]
    back = page.split("## Bring lost answers back")[1].split("\n\nRehearsal is")[0]
    for row in stored.atlas.rows:
        line = f"| {row.method} |"
        assert (line in kept) == (row.selects == "base's proportions")
        assert (line in even) == (row.selects in repairs.EVEN)
        assert (line in back) == (row.way_back.split(",")[0] in ("quick", "between"))


def test_every_training_is_told_and_those_that_ended_elsewhere_are_named():
    stored = guide.stored_records()
    page = repairs.repairs(stored).split("## Does real training do that?")[1]
    for each in stored.atlas.trained:
        assert f"| {each.method} | {each.predicted.validity:.3f} |" in page
        alone = sum(max(run.shares) >= 0.9 for run in each.runs)
        assert (f"{each.method} ({alone})" in page) == (alone > 0 and max(each.predicted.shares) < 0.9)


def test_no_training_is_left_out_of_the_count_of_those_that_ended_as_foreseen():
    stored = guide.stored_records()
    page = repairs.repairs(stored).split("## Does real training do that?")[1]
    gaps = {each.method: fmean(each.gaps) for each in stored.atlas.trained}
    near = sum(gap <= 0.05 for gap in gaps.values())
    assert f"{near} of {len(gaps)} methods end within 0.05" in page
    for method, gap in gaps.items():
        assert (f"{method} {gap:.3f}" in page.split("the others: ")[1].split("\n")[0]) == (gap > 0.05)


def test_the_published_table_has_intervals_around_what_is_published():
    page = guide.guide(guide.stored_records())
    (line,) = (line for line in page.splitlines() if line.startswith("| Pass@16 | 75.0 ["))
    assert "| 71.8 [69.4, 74.0] | 71.6 [69.2, 73.8] |" in line
