"""Text and tables as LaTeX prints them."""

from __future__ import annotations

from collections.abc import Sequence

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "ε": r"$\varepsilon$",
    "γ": r"$\gamma$",
    "±": r"$\pm$",
    "−": "$-$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "₀": r"$_0$",
    "½": r"$\frac12$",
    "⁵": r"$^5$",
    "·": r"$\cdot$",
    "“": "``",
    "”": "''",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
}


def latex(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(c, c) for c in text)


def tabular(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """A table in the form that a paper prints, with booktabs. columns: heading and alignment."""
    body = [" & ".join(latex(cell) for cell in row) + r" \\" for row in rows]
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{{''.join(a for _, a in columns)}}}",
            r"\toprule",
            " & ".join(latex(c) for c, _ in columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )
