"""DP-Prompt (Utpala, Hooker, Chen: Findings of EMNLP 2023), as the DP-MLM paper compares with it (Appendix B).

A language model is asked to paraphrase the text. The exponential mechanism over its clipped scores samples every token
of the answer (:mod:`generation`). The paper's model is flan-t5-base; here it is any encoder-decoder or decoder that
transformers reads, or a small bundled one.

Deliberate deviations from the paper and its released code:

* The token limit is a public number. The paper's "as long as the input" is ``length="input"``, whose guarantee covers
  only texts of the same length.
* Sampling uses float64 with full-range noise; no top-k and no top-p, as in the paper.
* Special tokens other than the end are never written.
* Text after a line break is dropped unless ``stop="end"`` (decoders continue with another document).
* ``prompt="examples"`` shows a decoder three public worked examples first.
* The bundled model writes no capitals; ``recase`` adds them by a public rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...models.generators import PROMPTED
from ...models.registry import BUNDLED
from ..capabilities import InputCoverage
from ..config import option
from ..preparing import Prepared
from .generation import Generation
from .generation_facets import GenerationCoverage
from .generation_options import GenerationConfig, generator_option

BEFORE, AFTER = "Document : ", "\nParaphrase of the document :"
#: Written for this project.
EXAMPLES = (
    ("The shop on the corner closes at six in the evening.", "The corner shop shuts at 6 p.m."),
    ("My brother could not come because his train was late.", "Since his train was delayed, my brother did not come."),
    ("I really liked the soup, but the bread was old.", "The soup was very good, although the bread was stale."),
)


@dataclass(frozen=True)
class DPPromptConfig(GenerationConfig):
    """Options of DP-Prompt."""

    prompt: str = option(
        "paper",
        label="Prompt",
        changes_distribution=True,
        choices=("paper", "examples"),
        help="The paper's prompt asks for a paraphrase. “Examples” adds three public examples, which helps models "
             "that were not trained to follow instructions.",
        phrase="prompt: {}",
    )
    model: str = generator_option(None, PROMPTED)


class DPPrompt(Generation):
    """DP-Prompt: a language model paraphrases the text, each token sampled by its clipped scores."""

    name = "dp-prompt"
    references = ("utpala2023dpprompt", "meisenbacher2024dpmlm")
    title = "DP-Prompt"
    summary = "A language model paraphrases the text, and each token of its answer is sampled."
    config_cls: ClassVar[type] = DPPromptConfig
    bundled = PROMPTED

    def around(self) -> tuple[str, str]:
        if self.config.prompt == "paper":
            return BEFORE, AFTER
        shown = "".join(f"{BEFORE}{source}{AFTER} {written}\n\n" for source, written in EXAMPLES)
        return shown + BEFORE, AFTER

    @property
    def reading(self) -> InputCoverage[Generation]:
        return _InputCoverage(self)

    @classmethod
    def variants(cls):
        return ({}, {"prior": "released"}, {"length": "input"})


class _InputCoverage(GenerationCoverage):
    """Coverage by the model's tokens, with a note on the bundled model and examples."""

    def note(self, text: str | Prepared) -> str:
        if self.m.config.prompt == "examples" and self.m.config.model == BUNDLED:
            return (
                "The bundled model was not trained to follow examples: it tends to repeat one of them and preserves "
                "little of this text. Choose the paper's prompt, or a larger model."
            )
        return super().note(text)
