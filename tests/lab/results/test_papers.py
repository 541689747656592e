"""The papers' tables: their shape, single cells, and their arithmetic; where the papers are, their text as well."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from dptext_core.errors import InputError, ModelUnavailable
from dptext_lab.results import papers

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "assets" / "papers"
TEXTS = Path(os.environ.get("DPTEXT_PAPERS") or ROOT.parent / "shared" / "papers")

# Rows × columns, and the cells for unprotected text that stand once. A cell of DP-MLM's Table 2 has three numbers.
SHAPES = {
    ("DP-MLM", "Table 1"): 6 * 9,
    ("DP-MLM", "Table 2"): 4 * 5 * 3 * 3 + 4,
    ("DP-MLM", "Table 3"): 2 * (7 * 15 + 3),
    ("DP-MLM", "Table 4"): 7 * 6 + 3,
    ("DP-MLM", "Efficiency"): 3 * 2 + 1,
    ("1-Diffractor", "Table 1"): 2 * 6 * 9 * 3 + 9,
    ("1-Diffractor", "Table 2"): 7 * 8,
    ("1-Diffractor", "Table 3"): 3 * 6 * 8,
    ("1-Diffractor", "Table 4"): 2 * (2 * 6 + 1),
    ("1-Diffractor", "Table 5"): 2 * 7,
    ("CusText", "Table 1"): 2 * 10,
    ("CusText", "Table 3"): 3 * 3,
    ("CusText", "Table 4"): 3 * 3,
    ("CusText", "Table 5"): 6 * 6 + 2,
    ("CusText", "Table 6"): 6 * 6 + 2,
    ("CusText", "Table 7"): 10 * 12,
    ("CusText", "Table 8"): 4 * 12 + 6,
    ("DP-Rewrite", "Table 1"): 2 * 2 * 5 + 6,
    ("DP-MLM", "Section 7, prose"): 2,
    ("1-Diffractor", "Section 6, prose"): 2,
    ("1-Diffractor", "Section 7, prose"): 4,
    ("1-Diffractor", "Section 7, N_w@10"): 1,
    ("CusText", "Section 5.4, prose"): 1,
}
# Of numbers that stand in the text: where their section begins, and the next one.
PROSE = {
    ("DP-MLM", "Section 7"): ("7 Discussion", "8 Conclusion"),
    ("1-Diffractor", "Section 6"): ("6. Efficiency Experiments", "7. Discussion"),
    ("1-Diffractor", "Section 7"): ("7. Discussion", "8. Related Work"),
    ("CusText", "Section 5.4"): ("5.4 Comparison", "6 PRIVACY CALIBRATION"),
}

G, T = {"noise": "geometric"}, {"noise": "tem"}
L0, L1, L2 = {"lists": ["L0"]}, {"lists": ["L1"]}, {"lists": ["L2"]}
R, R_PLUS = ({"k": 50, "strategy": "record", "keep_stopwords": stay} for stay in (False, True))
BAL = {"mapping": "balanced", "strategy": "record"}

# Read off the papers by eye: paper, table, mechanism, options, ε, data, metric, value, spread; then the start of the
# line of the extraction where it stands (behind | the numbers of the row begin) and which number of the row it is.
CELLS = [
    ("DP-MLM", 1, "dp-mlm", {}, 25, "sst2", "accuracy", "76.49", "0.94", "25 |69.77", 1),
    ("DP-MLM", 1, "baseline", {}, None, "rte", "accuracy", "54.99", "2.98", "Baseline |84.72", 8),
    ("DP-MLM", 1, "dp-mlm", {}, 50, "stsb", "pearson_spearman", "26.21", "11.60", "50 |70.85", 4),
    ("DP-MLM", 1, "dp-mlm", {}, 250, "wnli", "accuracy", "51.64", "5.67", "250 |70.18", 7),
    ("DP-MLM", 1, "dp-mlm", {}, 10, "mnli", "accuracy", "52.86", "0.71", "ε 10 |69.13", 5),
    ("DP-MLM", 2, "dp-prompt", {}, 100, "cola", "bleu", "0.68", None, "100 |0.28 0.69", 6),
    ("DP-MLM", 2, "dp-paraphrase", {}, 250, "mrpc", "cosine", "0.38", None, "250 |0.21 0.68 76.39", 4),
    ("DP-MLM", 2, "dp-prompt", {}, 250, "rte", "accuracy", "59.21", "4.59", "250 |0.21 0.66", 8),
    ("DP-MLM", 2, "dp-mlm", {}, 50, "sst2", "cosine", "0.61", None, "50 |0.19 0.61", 1),
    ("DP-MLM", 3, "dp-mlm", {}, 10, "trustpilot", "f1_static", "59.74", None, "Privacy F1 (stat.) |69.60 59.74", 1),
    ("DP-MLM", 3, "dp-prompt", {}, 250, "trustpilot", "pp_plus", "+270", None, "PP+ - |+62", 14),
    ("DP-MLM", 3, "dp-paraphrase", {}, 100, "yelp", "f1_adaptive", "20.53", "1.0", "Privacy F1 (adap.) |87.20", 9),
    (
        "DP-MLM",
        3,
        "dp-prompt",
        {},
        25,
        "yelp",
        "relative_gain_adaptive",
        "0.83",
        None,
        "Relative Gain (adap.) |0.26",
        11,
    ),
    (
        "DP-MLM",
        4,
        "dp-mlm-plus",
        {"add_prob": 0.25, "del_prob": 0.05},
        50,
        "trustpilot",
        "cosine",
        "70.91",
        None,
        "CS |34.05",
        3,
    ),
    (
        "DP-MLM",
        4,
        "dp-mlm-plus",
        {"add_prob": 0.1, "del_prob": 0.05},
        100,
        "trustpilot",
        "f1_adaptive",
        "66.37",
        "1.0",
        "Privacy F1 (adap.) |69.60 60.94",
        5,
    ),
    ("1-Diffractor", 1, "diffractor", {**G, **L2}, 1, "sst2", "accuracy", "85.40", "0.8", "1 |71.11", 5),
    ("1-Diffractor", 1, "diffractor", {**T, **L2}, 1, "sst2", "accuracy", "81.27", "0.7", "1 |68.36", 5),
    (
        "1-Diffractor",
        1,
        "diffractor",
        {**T, **L0},
        0.1,
        "stsb",
        "pearson_spearman",
        "39.40",
        "5.1",
        "1-DT 0.1 |68.49",
        12,
    ),
    ("1-Diffractor", 1, "diffractor", {**G, **L1}, 0.1, "wnli", "accuracy", "47.42", "7.7", "1-DG 0.1 |55.85", 7),
    ("1-Diffractor", 1, "diffractor", {**G, **L1}, 10, "rte", "accuracy", "61.73", "1.3", "10 |76.17", 10),
    ("1-Diffractor", 1, "diffractor", {**T, **L1}, 5, "qnli", "accuracy", "82.31", "0.3", "5 |72.77", 4),
    ("1-Diffractor", 2, "mahalanobis", {}, 25, "mrpc+rte+sst2", "cosine", "0.56", None, "Mahalanobis |0.09", 6),
    ("1-Diffractor", 2, "tem", {}, 3, "mrpc+rte+sst2", "cosine", "0.38", None, "TEM |0.10", 3),
    ("1-Diffractor", 3, "mvc", {}, 50, "rte", "accuracy", "59.81", "3.3", "MVC |52.59", 7),
    ("1-Diffractor", 3, "gumbel", {}, 0.5, "mrpc", "accuracy", "71.73", "0.5", "Gumbel |70.59", 1),
    ("1-Diffractor", 3, "vickrey", {}, 10, "sst2", "accuracy", "56.88", "0.8", "Vickrey |53.25", 5),
    ("1-Diffractor", 4, "diffractor", {**T, **L0}, 5, "friends", "accuracy", "30.38", None, "1-DT |20.77", 4),
    ("1-Diffractor", 4, "baseline", {}, None, "trustpilot", "accuracy", "74.34", None, "TG Baseline |74.34", 0),
    ("1-Diffractor", 5, "vickrey", {}, None, "vocabulary", "mib_per_word", "0.170", None, "per-word |0.00005", 4),
    ("CusText", 1, "santext", {}, 1, "qnli", "accuracy", "0.4921", None, "QNLI |0.4921", 0),
    ("CusText", 1, "custext", {"k": 1000, **BAL}, 1, "sst2", "accuracy", "0.7706", None, "SST-2 |0.5021", 8),
    (
        "CusText",
        3,
        "custext",
        {"k": 100, "mapping": "conservative", "strategy": "record"},
        0,
        "sst2",
        "accuracy",
        "0.5356",
        None,
        "100 |0.8624",
        2,
    ),
    (
        "CusText",
        4,
        "custext",
        {"k": 50, "mapping": "balanced"},
        None,
        "sst2",
        "not_n_to_m",
        "0.04",
        None,
        "50 |99.20",
        1,
    ),
    ("CusText", 5, "custext", R_PLUS, 10, "sst2", "accuracy", "0.9266", None, "R^+ |0.8922", 2),
    ("CusText", 5, "custext", R, 5, "qnli", "accuracy", "0.6616", None, "R |0.8624", 4),
    (
        "CusText",
        6,
        "custext",
        {"k": 50, "strategy": "dataset", "keep_stopwords": False},
        10,
        "qnli",
        "unchanged",
        "16.03",
        None,
        "D |3.15",
        5,
    ),
    ("CusText", 7, "custext", {"k": 500}, 31, "happy", "queries", "405", None, "0.3 |1530", 6),
    ("CusText", 7, "custext", {"k": 2000}, 753, "happy", "n_w", "0.99", None, "|0.99 1 83 1 108", 0),
    ("CusText", 8, "santext", {}, 3, "happy", "n_w", "62.95", None, "happy |4255", 5),
    ("CusText", 8, "custext", {"k": 50}, 3, "sst2", "accuracy", "0.8818", None, "Acc. |0.5101", 5),
    ("DP-Rewrite", 1, "adept", {"pretrained": "snips"}, 100, "snips", "macro_f1", "0.91", "0.02", "|0.91 (0.02)", 0),
    ("DP-Rewrite", 1, "adept", {"pretrained": "atis"}, 1000, "snips", "macro_f1", "0.20", "0.02", "|0.20 (0.02)", 0),
    ("DP-Rewrite", 1, "adept", {"pretrained": "atis"}, None, "atis", "macro_f1", "0.73", "0.06", "|0.73 (0.06)", 0),
    ("DP-Rewrite", 1, "baseline", {}, None, "atis", "macro_f1", "0.87", "0.03", "|0.87 (0.03)", 0),
]


def tables(**options) -> dict[tuple[str, str], dict]:
    found = [t for p in sorted(FOLDER.glob("*.json")) for t in json.loads(p.read_text(encoding="utf-8"), **options)]
    return {(t["paper"], t["table"]): t for t in found}


def readable(line: str) -> str:
    """A line of an extraction with each number once, a standard deviation as ± behind it."""
    line = re.sub(r"\\(up|down)arrow|\\infty", "", line.replace("\t", " ").replace("plus-or-minus\\pm± ", ""))
    line = re.sub(r"ε𝜀\S+", "ε", line)
    line = re.sub(r"1-?D([GT])\d?subscript.*?end_POSTSUBSCRIPT", r"1-D\1", line)
    number = r"\d+\.\d+"
    line = re.sub(
        rf"(?<=\s){number}\S*subscript\S*\}}(?:bold_)?({number}) start_\w+ (?:bold_)?({number}) end_\w+", r"\1±\2", line
    )
    return re.sub(r" +", " ", re.sub(r" ±(?=\d)", "±", line))


def near(table: dict) -> list[str]:
    """The lines of the paper around a table, from the table before it to the caption, or a little behind it."""
    lines = (TEXTS / table["file"]).read_text(encoding="utf-8").split("\n")
    name = table["table"]
    if (section := (table["paper"], name.partition(",")[0])) in PROSE:
        first, last = (next(i for i, line in enumerate(lines) if line.startswith(start)) for start in PROSE[section])
        return [readable(line) for line in lines[first + 1 : last]]
    at = next(
        i
        for i, line in enumerate(lines)
        if re.match(rf"{name}[:.] |Efficiency$", line) and (name == "Efficiency") == (line == "Efficiency")
    )
    before, behind = (0, 40) if name == "Efficiency" else (110, 2) if table["paper"] == "DP-Rewrite" else (40, 18)
    lines = [readable(line) for line in lines[max(0, at - before) : at + behind]]
    if (table["paper"], name) == ("DP-MLM", "Table 3"):  # printed as one line a data set
        rows = "|".join(map(re.escape, ("PP+", "CS -", "Privacy F1", "Relative Gain")))
        lines = [part for line in lines for part in re.split(rf"(?={rows})", line)]
    return lines


@pytest.mark.parametrize("name", SHAPES, ids=" ".join)
def test_a_table_has_all_its_cells_once(name):
    table = tables()[name]
    assert len(table["rows"]) == SHAPES[name]
    keys = {json.dumps([r[c] for c in ("mechanism", "options", "epsilon", "data", "metric")]) for r in table["rows"]}
    assert len(keys) == SHAPES[name]
    assert table["caption"] and table["authors"] and table["venue"] and re.fullmatch(r"00\d_\w+\.txt", table["file"])


def test_no_other_tables_and_small_files():
    assert set(tables()) == set(SHAPES)
    assert sum(p.stat().st_size for p in FOLDER.iterdir()) < 300_000


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c[0]}-{c[1]}-{c[2]}-{c[5]}-{c[4]}-{c[6]}")
def test_a_cell_is_what_the_paper_prints(cell):
    paper, number, mechanism, options, epsilon, data, metric, value, spread, start, place = cell
    table = tables()[paper, f"Table {number}"]
    want = dict(mechanism=mechanism, options=options, epsilon=epsilon, data=data, metric=metric)
    (row,) = [r for r in table["rows"] if all(r[c] == x for c, x in want.items())]
    assert (row["value"], row["spread"]) == (float(value), None if spread is None else float(spread))
    if TEXTS.is_dir():
        label, numbers = start.split("|")
        line = next(line for line in near(table) if line.startswith(label + numbers))[len(label) :]
        cells = re.findall(r"(?<![\w.,-])[+-]?\d+(?:\.\d+)?(?:±\d+\.\d+)?(?=[ %]|$)", line)
        assert cells[place] == (value if spread is None or paper == "DP-Rewrite" else f"{value}±{spread}"), line


def in_print_order(name: tuple[str, str], rows: list[dict]) -> list[str | None]:
    """The numbers of a table's rows as one reads them in the paper, line by line."""
    if name == ("CusText", "Table 7"):  # p₀ once a line, then N and ε for each of the six K
        pairs = list(zip(rows[::2], rows[1::2], strict=True))
        lines = [pairs[i : i + 6] for i in range(0, len(pairs), 6)]
        return [
            x for line in lines for x in (line[0][0]["value"], *(q[c] for _, q in line for c in ("value", "epsilon")))
        ]
    if name == ("CusText", "Table 8"):  # both mechanisms stand in one line
        rows = sorted(rows, key=lambda r: ("happy", "car", "she", "mary", "sst2").index(r["data"]))
    return [r[c] for r in rows for c in ("value", "spread")]


@pytest.mark.parametrize("name", SHAPES, ids=" ".join)
def test_all_numbers_stand_in_the_paper_in_this_order(name):
    """Digit by digit; without the papers, only that each number is written as a paper prints it."""
    table = tables(parse_float=str, parse_int=str)[name]
    numbers = [x for x in in_print_order(name, table["rows"]) if x is not None]
    assert all(re.fullmatch(r"-?\d+(\.\d+)?", x) for x in numbers)
    if TEXTS.is_dir():
        text = "\n".join(near(table)).replace("1,048,231", "1048231")
        text = re.sub(r"(?<=\d)M\b", "000000", re.sub(r"(?<=\d)K\b", "000", text))
        there = iter(re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?", text))
        for place, number in enumerate(numbers):
            assert number in there, (
                f"number {place} is not where the paper has it: {number}"
            )  # moves on through the text


# --- the papers' own arithmetic: a column typed into the wrong place breaks it


def _by_key(name: tuple[str, str]) -> dict[tuple, dict]:
    rows = tables()[name]["rows"]
    return {(r["mechanism"], json.dumps(r["options"]), r["epsilon"], r["data"], r["metric"]): r for r in rows}


@pytest.mark.parametrize("name", [("DP-MLM", "Table 3"), ("DP-MLM", "Table 4")], ids=" ".join)
def test_relative_gain_and_pp_plus_follow_from_the_f1(name):
    rows, majority, checked = _by_key(name), {"trustpilot": 96.68, "yelp": 96.35}, 0
    for (mechanism, options, epsilon, data, metric), row in rows.items():
        f1 = rows[mechanism, options, epsilon, data, "f1"]["value"]
        if metric == "pp_plus":
            assert abs(row["value"] - 100 * (f1 - majority[data])) < 1.01
        elif metric.startswith("relative_gain"):
            attack = metric.replace("relative_gain", "f1")
            share = [
                rows[m, o, e, data, attack]["value"]
                for m, o, e in ((mechanism, options, epsilon), ("baseline", "{}", None))
            ]
            gain = f1 / rows["baseline", "{}", None, data, "f1"]["value"] - share[0] / share[1]
            assert abs(row["value"] - gain) < 0.008  # three printed gains are off by more than rounding
            checked += 1
    assert checked == {"Table 3": 60, "Table 4": 12}[name[1]]


def test_two_tables_that_print_one_number_agree():
    first = _by_key(("DP-MLM", "Table 1"))
    again = [(k, r) for k, r in _by_key(("DP-MLM", "Table 2")).items() if k[4] == "accuracy" and k in first]
    assert len(again) == 24
    assert all((r["value"], r["spread"]) == (first[k]["value"], first[k]["spread"]) for k, r in again)

    settings = defaultdict(list)
    for r in tables()["1-Diffractor", "Table 1"]["rows"]:
        settings[r["data"], r["epsilon"]].append((r["value"], r["spread"]))
    best = [r for r in tables()["1-Diffractor", "Table 3"]["rows"] if r["options"] and r["epsilon"] <= 10]
    assert len(best) == 18
    for r in best:
        assert (r["value"], r["spread"]) == max(settings[r["data"], r["epsilon"]])


# --- the loader


def test_rows_carry_their_source_and_one_scale():
    rows = papers.paper_rows("sst2", "dp-mlm", "accuracy")
    assert Counter(r.epsilon for r in rows) == dict.fromkeys((10, 25, 50, 100, 250), 2)
    assert {r.table for r in rows} == {"Table 1", "Table 2"}
    assert {r.paper for r in rows} == {"DP-MLM"} and {r.file[:4] for r in rows} == {"000_"}
    shares = [r.value * r.scale for r in papers.paper_rows(metric="accuracy")]
    assert min(shares) > 0.1 and max(shares) < 1.0
    points = [r.value * r.scale for r in papers.paper_rows(metric="bleu")]
    assert max(points) == pytest.approx(76.0) and min(points) == 0.0
    assert len(papers.paper_rows()) == sum(SHAPES.values()) and papers.paper_rows(data="no such set") == []


def test_callers_cannot_change_each_others_rows():
    with pytest.raises(TypeError):
        papers.paper_rows("sst2", "diffractor", "accuracy")[0].options["lists"] = ("L9",)
    assert papers.paper_rows("sst2", "diffractor", "accuracy")[0].options == {"noise": "tem", "lists": ("L0",)}


def _broken(**change) -> list:
    row = {
        "mechanism": "tem",
        "options": {},
        "epsilon": 1,
        "data": "sst2",
        "task": "utility",
        "metric": "accuracy",
        "value": 0.5,
        "spread": None,
        "note": "",
    }
    table = {c: "x" for c in papers.ABOUT} | {"units": {"accuracy": "fraction"}, "rows": [{**row, **change}]}
    return [table]


@pytest.mark.parametrize(
    "text, fault",
    [
        ("{", "is not valid JSON"),
        ('[{"paper": "x"}]', "must be a list of tables"),
        (json.dumps(_broken(mechanism="no-such")), "unknown mechanism"),
        (json.dumps(_broken(metric="f1")), "without a unit"),
        (json.dumps(_broken(extra=1)), "needs exactly"),
        (json.dumps(_broken(options=[])), "options must be an object"),
        (json.dumps(_broken(metric=["accuracy"])), "strings"),
        (json.dumps([_broken()[0] | {"rows": {}}]), "must be a list"),
        (json.dumps(_broken(value=float("inf"))), "value must be a finite number"),
        (json.dumps(_broken(value="0.5")), "value must be a finite number"),
        (json.dumps(_broken(epsilon=-1)), "epsilon is negative"),
        (json.dumps(_broken(value=None)), "needs a note"),
        (json.dumps([_broken()[0] | {"rows": _broken()[0]["rows"] * 2}]), "repeated"),
    ],
)
def test_a_file_that_breaks_the_format_is_refused(tmp_path, text, fault):
    (tmp_path / "good.json").write_text(json.dumps(_broken()), encoding="utf-8")
    assert len(papers.read_tables(tmp_path / "good.json")) == 1
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=fault):
        papers.read_tables(tmp_path / "bad.json")


def test_missing_files_say_so(tmp_path):
    with pytest.raises(ModelUnavailable, match="tables are missing"):
        papers._all_rows(tmp_path)
