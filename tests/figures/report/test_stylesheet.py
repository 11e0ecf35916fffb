import re

from figures.report.stylesheet import CSS


def test_every_colour_that_is_used_is_set_in_light_and_dark():
    used = set(re.findall(r"var\(--(\w+)\)", CSS)) - {"width"}
    for part in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL):
        assert used <= set(re.findall(r"--(\w+):", part))
    assert CSS.count("{") == CSS.count("}")


def test_it_asks_nobody_for_anything():
    assert "url(" not in CSS
    assert "@import" not in CSS


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_all_text_is_readable_on_its_ground():
    for part in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL):
        colours = dict(re.findall(r"--(\w+): (#\w{6})", part))
        for name in ("ink", "soft", "link", "proved", "holds", "refuted", "bad"):
            assert min(contrast(colours[name], colours[ground]) for ground in ("paper", "card")) >= 4.5, name
