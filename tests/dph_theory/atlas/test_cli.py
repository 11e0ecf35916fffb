import json
from pathlib import Path

from click.testing import CliRunner

from dph_theory.atlas.cli import atlas_command
from dph_theory.atlas.rows import LEGEND, SHORT, AtlasRow, grouped


def test_a_method_of_ones_own_stands_beside_another_in_every_form(tmp_path):
    (tmp_path / "mine.py").write_text("def pushed(rewards):\n    print('called')\n    return rewards - 1\n")
    paths = {form: tmp_path / f"atlas.{form}" for form in ("json", "html", "latex")}
    options = [option for form, path in paths.items() for option in (f"--{form}", str(path))]
    result = CliRunner().invoke(
        atlas_command, [f"{tmp_path}/mine.py:pushed", "--only", "negatives only", *options]
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "2 methods converge to: one answer (2)."
    assert max(map(len, lines)) <= 80
    assert sum("one answer" in line for line in lines) == 2  # One group, and the sentence.
    assert lines[-5:-1] == list(LEGEND)
    assert lines[-1].startswith("Next: dph predict")
    rows = json.loads(paths["json"].read_text())["results"]["rows"]
    assert [row["method"] for row in rows] == ["negatives only", "pushed"]
    for one in rows:
        assert one["selects"] == one["selects_single"] == "one answer"
        assert (one["fixed"], one["drift"], one["way_back"]) == (False, 0, "none")
        assert one["rare"] < 1e-3 > one["long"]
        assert one["source"]
    assert "<td>pushed</td>" in paths["html"].read_text()
    assert "pushed &" in paths["latex"].read_text()


def test_wrong_usage_is_one_line(tmp_path):
    (tmp_path / "mine.py").write_text("def broken(rewards):\n    raise KeyError('no')\n")
    unknown = CliRunner().invoke(atlas_command, ["--only", "GPRO"])
    assert unknown.exit_code == 2
    assert "one of GRPO, Dr. GRPO" in unknown.output
    assert "is GRPO meant?" in unknown.output
    broken = CliRunner().invoke(atlas_command, [f"{tmp_path}/mine.py:broken"])
    assert broken.exit_code == 1
    assert "could not be audited: of rewards (groups, G) alone the advantage raised KeyError" in broken.output
    missing = CliRunner().invoke(atlas_command, [f"{tmp_path}/mine.py:other"])
    assert missing.exit_code == 2
    assert "found in it: broken" in missing.output


def test_the_stored_atlas_fits_eighty_columns_in_groups():
    stored = json.loads((Path(__file__).parents[3] / "figures" / "numbers" / "atlas.json").read_text())
    rows = [AtlasRow(**row) for row in stored["results"]["rows"]]
    table = grouped(rows)
    assert len(SHORT) == 5
    titles = [row[0] for row in table.rows if len(row) == 1]
    assert titles[0] == "one answer"
    assert "locally filtered; one decision: base's proportions" in titles
    assert len(table.rows) == len(rows) + len(titles)
