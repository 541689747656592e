"""What each mechanism was published in, as BibTeX, and how to cite this program.

A mechanism names its papers by their keys (``Mechanism.references``), the one that it is from first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .._internal.version import __version__
from ..errors import InputError

#: Of this program, and of what was first described in it.
OWN = "dptextstudio"

_BIBTEX = r"""
@software{dptextstudio,
  title = {{DP-Text Studio}},
  author = {{DP-Text Studio authors}},
  version = {VERSION},
  license = {MIT},
}

@inproceedings{meisenbacher2024dpmlm,
  title = {{DP-MLM}: Differentially Private Text Rewriting Using Masked Language Models},
  author = {Meisenbacher, Stephen and Chevli, Maulik and Vladika, Juraj and Matthes, Florian},
  booktitle = {Findings of the Association for Computational Linguistics: ACL 2024},
  pages = {9314--9328},
  year = {2024},
  url = {https://aclanthology.org/2024.findings-acl.554},
}

@inproceedings{meisenbacher2024diffractor,
  title = {1-{D}iffractor: Efficient and Utility-Preserving Text Obfuscation Leveraging Word-Level Metric Differential
           Privacy},
  author = {Meisenbacher, Stephen and Chevli, Maulik and Matthes, Florian},
  booktitle = {Proceedings of the 10th ACM International Workshop on Security and Privacy Analytics},
  year = {2024},
  doi = {10.1145/3643651.3659896},
}

@inproceedings{chen2023custext,
  title = {A Customized Text Sanitization Mechanism with Differential Privacy},
  author = {Chen, Sai and Mo, Fengran and Wang, Yanhao and Chen, Cen and Nie, Jian-Yun and Wang, Chengyu and Cui,
            Jamie},
  booktitle = {Findings of the Association for Computational Linguistics: ACL 2023},
  pages = {5747--5758},
  year = {2023},
  doi = {10.18653/v1/2023.findings-acl.355},
}

@inproceedings{yue2021santext,
  title = {Differential Privacy for Text Analytics via Natural Text Sanitization},
  author = {Yue, Xiang and Du, Minxin and Wang, Tianhao and Li, Yaliang and Sun, Huan and Chow, Sherman S. M.},
  booktitle = {Findings of the Association for Computational Linguistics: ACL-IJCNLP 2021},
  pages = {3853--3866},
  year = {2021},
}

@inproceedings{carvalho2023tem,
  title = {{TEM}: High Utility Metric Differential Privacy on Text},
  author = {Carvalho, Ricardo Silva and Vasiloudis, Theodore and Feyisetan, Oluwaseyi and Wang, Ke},
  booktitle = {Proceedings of the 2023 SIAM International Conference on Data Mining (SDM)},
  pages = {883--890},
  year = {2023},
  doi = {10.1137/1.9781611977653.ch99},
}

@inproceedings{feyisetan2020mvc,
  title = {Privacy- and Utility-Preserving Textual Analysis via Calibrated Multivariate Perturbations},
  author = {Feyisetan, Oluwaseyi and Balle, Borja and Drake, Thomas and Diethe, Tom},
  booktitle = {Proceedings of the 13th International Conference on Web Search and Data Mining},
  pages = {178--186},
  year = {2020},
  doi = {10.1145/3336191.3371856},
}

@inproceedings{xu2020mahalanobis,
  title = {A Differentially Private Text Perturbation Method Using Regularized {M}ahalanobis Metric},
  author = {Xu, Zekun and Aggarwal, Abhinav and Feyisetan, Oluwaseyi and Teissier, Nathanael},
  booktitle = {Proceedings of the Second Workshop on Privacy in NLP},
  pages = {7--17},
  year = {2020},
  doi = {10.18653/v1/2020.privatenlp-1.2},
}

@inproceedings{xu2021vickrey,
  title = {On a Utilitarian Approach to Privacy Preserving Text Generation},
  author = {Xu, Zekun and Aggarwal, Abhinav and Feyisetan, Oluwaseyi and Teissier, Nathanael},
  booktitle = {Proceedings of the Third Workshop on Privacy in Natural Language Processing},
  pages = {11--20},
  year = {2021},
  doi = {10.18653/v1/2021.privatenlp-1.2},
}

@inproceedings{xu2021gumbel,
  title = {Density-Aware Differentially Private Textual Perturbations Using Truncated {G}umbel Noise},
  author = {Xu, Nan and Feyisetan, Oluwaseyi and Aggarwal, Abhinav and Xu, Zekun and Teissier, Nathanael},
  booktitle = {The International FLAIRS Conference Proceedings},
  volume = {34},
  year = {2021},
  doi = {10.32473/flairs.v34i1.128463},
}

@inproceedings{utpala2023dpprompt,
  title = {Locally Differentially Private Document Generation Using Zero Shot Prompting},
  author = {Utpala, Saiteja and Hooker, Sara and Chen, Pin Yu},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2023},
  year = {2023},
  note = {arXiv:2310.16111},
}

@inproceedings{mattern2022limits,
  title = {The Limits of Word Level Differential Privacy},
  author = {Mattern, Justus and Weggenmann, Benjamin and Kerschbaum, Florian},
  booktitle = {Findings of the Association for Computational Linguistics: NAACL 2022},
  pages = {867--881},
  year = {2022},
}

@inproceedings{igamberdiev2022dprewrite,
  title = {{DP-Rewrite}: Towards Reproducibility and Transparency in Differentially Private Text Rewriting},
  author = {Igamberdiev, Timour and Arnold, Thomas and Habernal, Ivan},
  booktitle = {Proceedings of the 29th International Conference on Computational Linguistics},
  year = {2022},
}

@inproceedings{krishna2021adept,
  title = {{ADePT}: Auto-encoder based Differentially Private Text Transformation},
  author = {Krishna, Satyapriya and Gupta, Rahul and Dupuy, Christophe},
  booktitle = {Proceedings of the 16th Conference of the European Chapter of the Association for Computational
               Linguistics: Main Volume},
  pages = {2435--2439},
  year = {2021},
}

@inproceedings{habernal2021devil,
  title = {When Differential Privacy Meets {NLP}: The Devil is in the Detail},
  author = {Habernal, Ivan},
  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing},
  pages = {1522--1528},
  year = {2021},
}

@inproceedings{igamberdiev2023dpbart,
  title = {{DP-BART} for Privatized Text Rewriting under Local Differential Privacy},
  author = {Igamberdiev, Timour and Habernal, Ivan},
  booktitle = {Findings of the Association for Computational Linguistics: ACL 2023},
  year = {2023},
}

@inproceedings{vinod2025invisibleink,
  title = {{InvisibleInk}: High-Utility and Low-Cost Text Generation with Differential Privacy},
  author = {Vinod, Vishnu and Pillutla, Krishna and Thakurta, Abhradeep Guha},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2025},
  note = {arXiv:2507.02974},
}

@inproceedings{mcsherry2007mechanism,
  title = {Mechanism Design via Differential Privacy},
  author = {McSherry, Frank and Talwar, Kunal},
  booktitle = {48th Annual IEEE Symposium on Foundations of Computer Science (FOCS)},
  pages = {94--103},
  year = {2007},
}
"""


@dataclass(frozen=True)
class Reference:
    """key: as in the BibTeX entry. bibtex: the entry."""

    key: str
    bibtex: str

    def field(self, name: str) -> str:
        """A field in plain text, without braces; empty where the entry has none of that name."""
        found = re.search(rf"(?ms)^  {re.escape(name)} = \{{(.*?)\}},$", self.bibtex)
        return " ".join(found[1].replace("{", "").replace("}", "").replace("--", "–").split()) if found else ""

    def line(self) -> str:
        """The entry for reading: who, when, what, where."""
        authors = [" ".join(reversed(a.split(", "))) for a in self.field("author").split(" and ")]
        who = ", ".join(authors[:-1]) + " and " * (len(authors) > 1) + authors[-1]
        when = f" ({year})" if (year := self.field("year")) else ""
        where = f" {place}." if (place := self.field("booktitle")) else ""
        return f"{who}{when}. {self.field('title')}.{where}"


@cache
def references() -> dict[str, Reference]:
    """All of them by their key, this program first."""
    entries = re.split(r"\n\n(?=@)", _BIBTEX.replace("VERSION", __version__).strip())
    keys = [entry[entry.index("{") + 1 : entry.index(",")] for entry in entries]
    return {key: Reference(key, entry) for key, entry in zip(keys, entries, strict=True)}


def reference(key: str) -> Reference:
    """Raises InputError for a key that there is not."""
    try:
        return references()[key]
    except KeyError:
        raise InputError(f"There is no reference {key!r}. There are: {', '.join(references())}.") from None


def bibtex(keys: tuple[str, ...]) -> str:
    """Entries as one text for a .bib file, each once."""
    return "\n\n".join(reference(key).bibtex for key in dict.fromkeys(keys)) + "\n"
