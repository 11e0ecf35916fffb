from dph_theory.support.user_code import blamed


def test_an_error_from_elsewhere_names_no_line(tmp_path):
    assert blamed(ValueError("not yours"), tmp_path / "mine.py") == "ValueError: not yours"
