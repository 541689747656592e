"""All measures of a mechanism or a rewrite in one place: title, unit, direction, bounds and judge.

They are computed elsewhere: metrics of a text in the files of this folder, those of a classifier in the laboratory's
``runner.tasks``, N_w and S_w in a token's distribution. Code that draws, prints or bounds a number looks it up here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf

#: What a metric measures: utility, privacy, both together, similarity of the texts, deniability of a word, or cost.
KINDS = ("utility", "privacy", "gain", "similarity", "deniability", "speed")
#: Suffixes of a classifier's score for another classifier: an encoder fine-tuned for the task; and a bag of words, or
#: of letters for authors, which shares nothing with the bundled encoder.
TUNED, BAG = "_finetuned", "_bag"
JUDGES = (TUNED, BAG)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Its values are in [low, high]; ``unit`` is "" for a plain number, "share" for a share of 1.

    kind: one of ``KINDS``, "other" if unknown. greater_is_better: None if neither direction is better. judge: the model
    or classifier that computes the number, "" if it is counted or computed. about: its meaning, in a sentence. digits:
    a format for a value in a sentence. of, times: the metric that this one shows in another unit, and the factor of its
    numbers. drawn: for words, whether it depends on the samples, so that every seed measures it.
    """

    name: str
    title: str
    kind: str
    unit: str
    greater_is_better: bool | None
    low: float
    high: float
    judge: str = ""
    about: str = ""
    digits: str = ".1%"
    of: str = ""
    times: float = 1.0
    drawn: bool = False

    @property
    def better(self) -> int:
        """Return 1 if more is better, −1 if less is better, 0 if neither is."""
        return {True: 1, False: -1, None: 0}[self.greater_is_better]

    @property
    def once(self) -> bool:
        """Return True if it is measured on words, once per setting and ε, whatever the number of seeds."""
        return self.kind == "deniability" and not self.drawn

    @property
    def task(self) -> str:
        """Return the kind's name in result rows: a gain is listed with the attackers that it is measured against."""
        return {"gain": "privacy", "other": "utility"}.get(self.kind, self.kind)


_STATIC = "a classifier that was trained on original texts"
_ADAPTIVE = "a classifier that was trained on rewritten texts"
_GAIN = "Remaining utility minus remaining attacker success (U_r/U_o − P_r/P_o), where the attacker is"
_ENCODER = (
    "the bundled sentence encoder (all-MiniLM-L6-v2), which is not independent: the mechanisms and the bundled "
    "language "
    "model use its weights"
)
_CLASSIFIER = f"logistic regression on {_ENCODER}"
_WORDS = "logistic regression on words and pairs of words (TF-IDF)"
_LETTERS = "logistic regression on sequences of 2 to 5 letters (TF-IDF)"
_ASKED = "the bundled masked language model, whose trunk is all-MiniLM-L6-v2"

# Properties that the metrics of one family share.
_share = partial(Metric, unit="share", low=0, high=1)
_use = partial(_share, kind="utility", greater_is_better=True, judge=_CLASSIFIER)
_author = partial(_share, kind="privacy", greater_is_better=False, judge=_CLASSIFIER)
_attacked = partial(_share, kind="deniability", greater_is_better=False)
_gain = partial(
    Metric, kind="gain", unit="", greater_is_better=True, low=-inf, high=inf, judge=_CLASSIFIER, digits=".3f"
)
_near = partial(Metric, kind="similarity", unit="", greater_is_better=True, low=-1, high=1, digits=".3f")
_overlap = partial(Metric, kind="similarity", unit="points", greater_is_better=True, low=0, high=100, digits=".1f")
_perplexity = partial(Metric, kind="similarity", unit="", greater_is_better=False, low=1, high=inf)
_pace = partial(Metric, kind="speed", unit="tokens", greater_is_better=True, low=0, high=inf, digits=",.0f")
_memory = partial(Metric, kind="speed", unit="MiB", greater_is_better=False, low=0, high=inf, digits=".1f")

#: All metrics, in display order. Utility is that of a classifier trained and tested on rewritten texts.
_ALL = (
    _use("accuracy", "Accuracy", about="Share of test texts that the classifier labels correctly."),
    _use("macro_f1", "Macro F1", about="The mean F1 of the classes, with equal weight for each class."),
    _use("f1", "Utility F1", about="Micro F1 of a utility classifier trained and tested on rewritten texts."),
    _use(
        "matthews",
        "Matthews correlation",
        unit="",
        low=-1,
        about="Correlation of predicted and true classes: 1 is perfect, 0 is guessing.",
        digits=".3f",
    ),
    _use(
        "pp_plus",
        "PP+",
        unit="hundredths of a percentage point",
        low=-inf,
        high=inf,
        about="F1 minus that of always guessing the most frequent class, in hundredths of a percentage point.",
        digits="+.0f",
    ),
    _use(
        "label_kept",
        "Label recognised",
        about="Share of rewritten texts that a classifier trained on original texts classifies correctly.",
    ),
    _near(
        "cosine",
        "Cosine to the original",
        judge=_ENCODER,
        about="Cosine of the sentence embeddings of original and rewritten text.",
    ),
    _near(
        "bertscore",
        "BERTScore",
        judge=f"the fifth layer of {_ENCODER}",
        about="F1 of greedily matched token embeddings of the bundled encoder, not rescaled.",
    ),
    _overlap(
        "bleu",
        "BLEU",
        about="Word sequences in common, over the whole set, 0 to 100. A change of capital letters lowers the "
              "score.",
    ),
    _overlap(
        "bleu_uncased",
        "BLEU without case",
        about="Word sequences in common, the mean over texts: 100 if every word is unchanged, ignoring case.",
    ),
    _overlap(
        "chrf",
        "chrF without case",
        about="Letter sequences in common, the mean over texts: 100 if every word is unchanged, ignoring case.",
    ),
    _share(
        "unchanged",
        "Words unchanged",
        kind="similarity",
        greater_is_better=None,
        about="Share of tokens that are the same in both texts.",
    ),
    _perplexity(
        "perplexity",
        "Perplexity",
        judge=_ASKED,
        about="Pseudo-perplexity under the bundled masked language model: lower is easier to read.",
        digits=".1f",
    ),
    _perplexity(
        "lm_perplexity",
        "Perplexity, language model",
        judge="a causal language model that was added (Gemma 3 270M, Q4_K_M)",
        about="Perplexity per word under a causal language model, as a geometric mean over the texts: lower is easier "
        "to read.",
        digits=",.0f",
    ),
    _author("f1_static", "Attacker's F1, static", about=f"Micro F1 of guessing the author with {_STATIC}."),
    _author("f1_adaptive", "Attacker's F1, adaptive", about=f"Micro F1 of guessing the author with {_ADAPTIVE}."),
    _gain("relative_gain_static", "Relative gain, static", about=f"{_GAIN} {_STATIC}. Values above 0 are a gain."),
    _gain("relative_gain_adaptive", "Relative gain, adaptive", about=f"{_GAIN} {_ADAPTIVE}. Values above 0 are a "
                                                                     "gain."),
    _attacked(
        "n_w",
        "N_w: probability that a word is unchanged",
        about="A statistic from the papers, as a mean over replaced words. Papers also report 1 − N_w under this name.",
    ),
    Metric(
        "s_w",
        "S_w: different words in 100 draws",
        kind="deniability",
        unit="words",
        greater_is_better=True,
        low=1,
        high=100,
        about="Expected number of different words in 100 draws, as a mean over replaced words.",
        digits=".1f",
    ),
    _attacked(
        "belief",
        "Certainty of the optimal reader",
        about="How often the optimal reader picks the rarest content word of a text among 8 public alternatives. This "
        "reader knows every other word, the mechanism and its ε.",
    ),
    _attacked(
        "attack_best",
        "Strongest attacker right",
        about="How often a replaced word is recovered by the strongest attacker: same word, nearest word, "
              "Bayes-optimal guess, language model or contextual Bayes. The strongest one differs by setting.",
    ),
    _attacked(
        "attack_best_few",
        "Strongest of same word, optimal guess and language model",
        about="How often a replaced word is recovered by the strongest of three attackers: same word, language model, "
              "or Bayes-optimal guess if a formula exists. Contextual Bayes is excluded and may recover more.",
    ),
    _attacked(
        "attack_two_texts",
        "Rewrite distinguished from one of another text",
        judge="the best of several classifiers",
        about="How often a classifier recognises from which of two texts a fresh rewrite comes. The texts differ in "
        "one word, and a random guess is right 50% of the time.",
    ),
    _attacked(
        "attack_reader",
        "Contextual Bayes right",
        judge=_ASKED,
        about="How often an attacker who knows the mechanism, ε and the language recovers a replaced word from the "
              "whole release.",
    ),
    _attacked(
        "attack_bayes",
        "Optimal guess right",
        about="How often the Bayes-optimal guess recovers a replaced word, from the released word, the mechanism, ε "
              "and public word frequencies. Nobody with this knowledge does better.",
    ),
    _attacked(
        "attack_nearest",
        "Among the ten nearest",
        drawn=True,
        about="How often a replaced word is the released word or one of its nine nearest neighbours in the word space.",
    ),
    _attacked(
        "attack_mask",
        "Language model right",
        judge=_ASKED,
        drawn=True,
        about="How often the first guess of a language model that reads the context is the original word.",
    ),
    _attacked(
        "attack_query",
        "100 answers right",
        about="How often the most frequent of 100 fresh answers to the same text is the original word.",
    ),
    _pace("tokens_per_second", "Tokens a second", about="Speed of rewriting alone, on the machine named below."),
    _pace("tokens_per_minute", "Tokens a minute", about="Speed of rewriting alone.", of="tokens_per_second", times=60),
    _pace("tokens_per_day", "Tokens a day", about="Speed of rewriting alone.", of="tokens_per_second", times=86400),
    _memory("mib_per_word", "MiB a word", about="Memory that the mechanism's tables take for each word."),
    _memory(
        "mib_per_1000_words",
        "MiB for 1,000 words",
        about="Peak memory while 1,000 words are rewritten.",
    ),
    _memory(
        "mib_with_tables",
        "MiB with tables",
        about="Peak memory of loading the mechanism's tables and rewriting the stated number of words.",
    ),
)
REGISTRY: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def split_judge(name: str) -> tuple[str, str]:
    """Return a metric's name without its classifier, and the classifier: one of ``JUDGES``, or "" for the first one."""
    suffix = next((s for s in JUDGES if name.endswith(s)), "")
    return name.removesuffix(suffix), suffix


def measure(name: str) -> Metric:
    """Return the registered metric; for an unknown one, a metric with its name only."""
    plain, suffix = split_judge(name)
    known = REGISTRY.get(plain)
    if known is None:
        return Metric(name, name, "other", "", None, -inf, inf, digits=".3g")
    if not suffix:
        return known
    if suffix == TUNED:
        title, judge, about = "fine-tuned", "the fine-tuned encoder", "The classifier is the fine-tuned encoder."
    else:
        judge = {"privacy": _LETTERS, "gain": f"{_WORDS}, for authors on sequences of letters"}.get(known.kind, _WORDS)
        title, about = "bag of words", "The classifier uses no language model and no word space."
        title = "bag of letters" if known.kind == "privacy" else title
    return replace(known, name=name, title=f"{known.title}, {title}", judge=judge, about=f"{known.about} {about}")
