"""Convert text and tables to LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

_MATHS = {
    **{"ε": r"\varepsilon", "γ": r"\gamma", "μ": r"\mu", "σ": r"\sigma", "½": r"\frac12", "₀": "_0", "⁵": "^5"},
    **{"±": r"\pm", "−": "-", "×": r"\times", "·": r"\cdot", "∞": r"\infty", "≤": r"\le", "≥": r"\ge", "→": r"\to"},
}
_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{c: f"${written}$" for c, written in _MATHS.items()},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "“": "``", "”": "''"},
}


def latex(text: str) -> str:
    """Return text as LaTeX."""
    return "".join(_LATEX.get(c, c) for c in text)


def tabular(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """Return a LaTeX table with booktabs. columns: heading and alignment."""
    body = [" & ".join(latex(cell) for cell in row) + r" \\" for row in rows]
    heading = " & ".join(latex(c) for c, _ in columns) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{{''.join(a for _, a in columns)}}}",
            *(r"\toprule", heading, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
