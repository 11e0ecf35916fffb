# ruff: noqa: E501 (a table)
r"""Gold answer, answer, and whether they are the same: what the maths verifier decides, and what is decided so.

Where taste decides: a decimal must agree to 12 places; `10\%` is .1 and also 10; braces alone group; a unit
that only one names, a currency and degrees are left out, two units must be one and are not converted; the order of a set's elements does not count, that of a tuple's does;
`1.234` is a decimal, never a thousand; words are compared without capitals.
"""

SAME, OTHER = True, False

# fmt: off
PAIRS = [
    # Numbers.
    ("1000", r"1\,000", SAME), ("1000", "1,000", SAME), ("1000", "1{,}000", SAME), ("1000000", "1 000 000", SAME),
    ("12345", "12 345", SAME), ("12345", "12~345", SAME), ("1000", r"1\;000", SAME), ("1234567", r"1\,234\,567", SAME),
    ("1234.5", "1,234.5", SAME), ("1000", r"1\thinspace000", SAME), ("1234.5", r"1\,234.5", SAME),
    ("1000", r"1\,001", OTHER), ("10000", r"1\,000", OTHER), ("1.234", "1234", OTHER), ("123", "1 23", OTHER),
    ("7", "7.", SAME), ("7", " 7. ", SAME), ("7", "7.0", SAME), ("7", "+7", SAME), ("7", "07", SAME), ("7", "8.", OTHER),
    ("-7", "-7.", SAME), ("-7", "\u22127", SAME), ("-7", "7", OTHER), ("0", "-0", SAME), ("0", "0.0", SAME),
    ("12", "\uff11\uff12", SAME), ("12", "\u0661\u0662", SAME), ("12", "\u096f", OTHER), ("9", "\u096f", SAME),
    ("3.5", "\u0663\u066b\u0665", SAME), ("1000", "\u0661\u066c\u0660\u0660\u0660", SAME), ("-5", "\uff0d\uff15", SAME),
    ("12", "\uff11\uff13", OTHER), ("(1,2)", "\uff08\uff11\uff0c\uff12\uff09", SAME),
    ("5", "{5}", SAME), ("5", "{{5}}", SAME), ("5", "{{6}}", OTHER), ("5", r"\boxed{5}", SAME), ("5", r"\left(5\right)", SAME),
    ("5", r"\text{5}", SAME), ("5", "$5$", SAME), ("5", r"5\ \text{cm}", SAME), ("5", r"5\text{ cm}^2", SAME),
    ("5", r"\$5", SAME), ("5", r"\$5.00", SAME), ("90", r"90^\circ", SAME), ("90", r"90^{\circ}", SAME), ("90", r"91^\circ", OTHER),
    # Marks and unions.
    ("5", "<answer>5</answer>", SAME), ("5", "<answer> 6 </answer>", OTHER), ("5", "so <answer>5", SAME),
    (r"(-\infty,2)\cup(3,\infty)", r"x<2 \text{ or } x>3", SAME), (r"(-\infty,2)\cup[3,\infty)", r"x < 2 or x \geq 3", SAME),
    (r"x<2 \text{ or } x>3", r"(-\infty,2)\cup(3,\infty)", SAME), (r"(-\infty,2)\cup(3,\infty)", r"x<2 \text{ or } x\ge 3", OTHER),
    (r"(-\infty,2)\cup(3,\infty)", r"x<3 \text{ or } x>2", OTHER), (r"x<2 \text{ or } x>3", r"x>3 \text{ or } x<2", SAME),
    # Powers.
    ("1000", "1e3", SAME), ("1000", "1E3", SAME), ("1000", "1.0e3", SAME), ("1500", "1.5e3", SAME), ("1000", "1e+3", SAME),
    ("0.000012", "1.2e-5", SAME), (r"1.2\times 10^{-5}", "1.2e-5", SAME), (r"1.2 \cdot 10^{-5}", "1.2e-5", SAME),
    ("1000", "1e4", OTHER), ("0.000012", "1.2e-6", OTHER), ("-1000", "-1e3", SAME), ("5000", r"5\times10^3", SAME),
    ("5000", "5\u00d710^3", SAME), ("1000000", "10^6", SAME), ("1000000", r"10^{6}", SAME), ("1000000", "10^7", OTHER),
    ("1024", "2^{10}", SAME), ("64", r"4^3", SAME), ("8", r"2^{2^{1}}", OTHER), ("4", r"2^{2^{1}}", SAME),
    ("5", "1e999999999", OTHER), ("0", "1e-999999999", OTHER), ("e", "e", SAME), ("2e", r"2e", SAME), ("3e", "2e", OTHER),
    (r"e^3", "e^3", SAME), (r"e^{3}", r"\exp(3)", SAME), (r"e^2", "e^3", OTHER),
    # Periods.
    (r"\frac{1}{3}", r"0.\overline{3}", SAME), (r"0.\overline{3}", r"\frac13", SAME), ("1/3", r"0.\overline3", SAME),
    (r"\frac{1}{7}", r"0.\overline{142857}", SAME), (r"\frac{37}{30}", r"1.2\overline{3}", SAME), ("1", r"0.\overline{9}", SAME),
    (r"\frac{1}{3}", r"0.\dot{3}", SAME), (r"\frac{1}{3}", r"0.\dot3", SAME), (r"\frac{1}{7}", r"0.\dot{1}4285\dot{7}", SAME),
    (r"-\frac{1}{3}", r"-0.\overline{3}", SAME), (r"\frac{2}{3}", r"0.\overline{3}", OTHER), (r"\frac{1}{3}", r"0.\bar{3}", SAME),
    (r"\frac{4}{33}", r"0.\overline{12}", SAME), (r"\frac{4}{33}", r"0.1\overline{2}", OTHER), (r"\frac{11}{90}", r"0.1\overline{2}", SAME),
    (r"12.\overline{6}", r"\frac{38}{3}", SAME), (r"\frac{1}{3}", "0.3", OTHER), (r"\frac{1}{3}", "0.33", OTHER),
    # Decimals.
    ("1/3", "0.3333333333", OTHER), ("0.3333333333", "1/3", OTHER), ("0.10000001", "0.1", OTHER), ("0.1", "0.10000001", OTHER),
    ("0.1", "0.100", SAME), ("0.1", "1/10", SAME), ("0.1", r"\frac{1}{10}", SAME), ("0.5", ".5", SAME), ("0.5", r"\frac12", SAME),
    ("0.5", r"\dfrac{1}{2}", SAME), ("0.5", r"\tfrac{1}{2}", SAME), ("0.5", "1/2", SAME), ("0.5", "2/4", SAME), ("0.5", "0.51", OTHER),
    (r"\sqrt{2}", "1.41421356", OTHER), (r"\sqrt{2}", "1.4142135623730951", SAME), (r"\pi", "3.14", OTHER), (r"\pi", "3.14159265", OTHER),
    (r"2\pi", "6.283185307", OTHER), ("0.999999", "1", OTHER), ("0.9999999999", "1", OTHER), ("100000001", "100000000", OTHER),
    ("1000000.1", "1000000", OTHER), ("3.14", r"\pi", OTHER), ("0.25", r"25\%", SAME), (r"25\%", "0.25", SAME), (r"25\%", "25", SAME),
    (r"25\%", r"26\%", OTHER), ("0.05", r"5\%", SAME), ("2.5", r"2\frac{1}{2}", SAME), ("2.5", "2 1/2", SAME), ("2.5", r"\frac{5}{2}", SAME),
    ("2.5", "2 1/3", OTHER), ("2.5", "5/2", SAME), ("1.5", r"\frac{3}{2}", SAME), ("1:2", "1/2", SAME),
    # Expressions.
    (r"\sqrt{8}", r"2\sqrt{2}", SAME), (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}", SAME), (r"\sqrt[3]{8}", "2", SAME),
    (r"\sqrt{2}", r"\sqrt{3}", OTHER), ("x+1", "1+x", SAME), ("x^2+2x+1", "(x+1)^2", SAME), ("x^2-1", "(x-1)(x+1)", SAME),
    ("x+1", "x-1", OTHER), ("x^2", "y^2", OTHER), ("2x", "x+x", SAME), (r"\sin^2 x+\cos^2 x", "1", SAME), ("5!", "120", SAME),
    (r"\binom{5}{2}", "10", SAME), (r"\ln e", "1", SAME), (r"\log_2 8", "3", SAME), (r"\cos\frac{\pi}{3}", r"\frac12", SAME),
    (r"\log_2 8", "4", OTHER), ("x=5", "5", SAME), ("5", "x=5", SAME), ("x=5", "x=6", OTHER), ("y=2x+1", "y=1+2x", SAME),
    ("y=2x+1", "y=2x-1", OTHER), (r"\infty", r"\infty", SAME), (r"\infty", "\u221e", SAME), (r"-\infty", r"\infty", OTHER),
    (r"\frac{10}{4}", r"\frac{5}{2}", SAME), (r"\frac{a}{b}", r"\frac{b}{a}", OTHER), ("ab", "ba", SAME), ("2^x", "x^2", OTHER),
    (r"\frac{\pi}{4}", "45^\\circ", OTHER), ("-1", r"e^{i\pi}", SAME), ("-1", r"e^{i \pi}", SAME), (r"e^{i\pi/2}", "i", SAME),
    ("1", r"e^{i\pi}", OTHER), ("1+i", "i+1", SAME), ("1+i", "1-i", OTHER), ("i^2", "-1", SAME), ("5", "5+0i", SAME),
    # Sets.
    ("(1,2)", "(1, 2)", SAME), ("(1,2)", "(2,1)", OTHER), (r"\left(\frac{1}{2},3\right)", "(0.5,3)", SAME), ("(1,2,3)", "(1,2,3)", SAME),
    ("(1,2,3)", "(1,2)", OTHER), (r"\{1,2\}", r"\{2,1\}", SAME), (r"\{1,2\}", "{2,1}", SAME), ("1,2", "2,1", SAME), ("1,2", "1,3", OTHER),
    ("1, 2", r"1 \text{ and } 2", SAME), ("4,5", r"4 \text{ or } 5", SAME), (r"\pm 2", "2,-2", SAME), (r"\pm 2", "2", OTHER),
    ("3", "3, 4", OTHER), ("(0,3)", "0<x<3", SAME), ("0<x<3", "(0,3)", SAME), ("[0,3]", r"0\le x\le 3", SAME), ("(0,3)", r"0\le x\le 3", OTHER),
    (r"[2,\infty)", r"x\ge 2", SAME), (r"x\geq 2", r"[2,\infty)", SAME), (r"[2,\infty)", "x>2", OTHER), (r"(-\infty,2)", "x<2", SAME),
    (r"(1,2]", r"1<x\le 2", SAME), (r"(1,2]", r"x \in (1,2]", SAME), ("[1,2]", "(1,2)", OTHER), ("(-1,1)", "|x|<1", SAME),
    (r"(-\infty,0)\cup(1,\infty)", r"(1,\infty)\cup(-\infty,0)", SAME), ("x>2", "x>3", OTHER),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}", SAME),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\1\end{pmatrix}", OTHER),
    # Words.
    (r"\text{Tuesday}", "Tuesday", SAME), ("Tuesday", "tuesday", SAME), ("Tuesday", "Monday", OTHER), ("true", "True", SAME),
    ("true", "false", OTHER), ("evil", "live", OTHER), ("yes", "Yes.", SAME), ("yes", "no", OTHER), ("odd", r"\text{odd}", SAME),
    ("even", "odd", OTHER), (r"\text{(C)}", "C", SAME), ("C", "(C)", SAME), (r"\text{A}", "A", SAME), ("A", "B", OTHER),
    # Units.
    ("5 cm", "5 m", OTHER), ("5 cm", "5 cm", SAME), ("5 cm", "5", SAME), (r"5\text{ cm}", r"5\ \mathrm{cm}", SAME), ("5 cm", "6 cm", OTHER),
    (r"5\text{ cm}", r"5\text{ m}", OTHER), (r"5 \mathrm{~cm}", r"5 \mathrm{~m}", OTHER), ("5 cm", "5 centimeters", SAME), ("5 km", "5 kilometres", SAME),
    (r"5\text{ cm}^2", r"5\text{ cm}", OTHER), (r"5\text{ cm}^2", r"5\text{ cm}^{2}", SAME), (r"5\text{ cm}^2", "5 square cm", SAME), ("5 m/s", "5 km/h", OTHER),
    ("5 hours", "5 h", SAME), ("5 hours", "5 minutes", OTHER), ("5 inches", "5 in", SAME), ("5 inches", "5 feet", OTHER), ("5 kg", "5 g", OTHER),
    ("5 L", "5 l", SAME), ("5 mL", "5 L", OTHER), (r"\frac{1}{2}\text{ m}", r"0.5\text{ m}", SAME), (r"\frac{1}{2}\text{ m}", r"0.5\text{ cm}", OTHER),
    (r"5\text{ apples}", r"5\text{ pears}", SAME),
    # Characters.
    (r"\sqrt{2}", "√2", SAME), ("√2", r"\sqrt{2}", SAME), ("2√2", r"\sqrt{8}", SAME), ("√2", "√3", OTHER), ("√2", "2", OTHER), ("√(x+1)", r"\sqrt{x+1}", SAME),
    ("√12", r"2\sqrt{3}", SAME), ("∛8", "2", SAME), ("0.5", "½", SAME), ("½", "1/2", SAME), ("2.5", "2½", SAME), ("2½", r"\frac{5}{2}", SAME), ("½", "2", OTHER),
    (r"\frac{3}{4}", "¾", SAME), (r"\frac{1}{3}", "⅓", SAME), ("⅔", "⅓", OTHER), ("x^2", "x²", SAME), ("x²", "x³", OTHER), ("x^{10}", "x¹⁰", SAME),
]
# fmt: on
