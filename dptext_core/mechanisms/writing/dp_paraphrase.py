"""DP-Paraphrase (Mattern, Weggenmann, Kerschbaum: Findings of NAACL 2022), as the DP-MLM paper compares with it.

A decoder was fine-tuned to continue ``source >>>>> `` with a paraphrase. Every token is sampled by the exponential
mechanism over its clipped scores (:mod:`generation`). The paper fine-tunes GPT-2 on entailed pairs of SNLI. The bundled
decoder is smaller and was trained on pairs of captions of one picture (``assets/models/paraphraser``). Other deviations
are those of :mod:`dp_prompt`, except for the prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...models.generators import PARAPHRASER
from .generation import Generation
from .generation_options import GenerationConfig, generator_option

MARK = " >>>>>"


@dataclass(frozen=True)
class DPParaphraseConfig(GenerationConfig):
    """Options of DP-Paraphrase."""

    model: str = generator_option("decoder", PARAPHRASER)


class DPParaphrase(Generation):
    """DP-Paraphrase: a decoder trained on paraphrases writes one, each token sampled by its clipped scores."""

    name = "dp-paraphrase"
    references = ("mattern2022limits", "meisenbacher2024dpmlm")
    title = "DP-Paraphrase"
    summary = "A decoder trained on paraphrases rewrites the text, and each token is sampled."
    config_cls: ClassVar[type] = DPParaphraseConfig
    bundled = PARAPHRASER

    def around(self) -> tuple[str, str]:
        return "", MARK
