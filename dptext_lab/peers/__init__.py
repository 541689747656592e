"""Our word-level mechanisms beside the field's released packages: same words, same vectors, same ε, same run.

The packages are mldp-text, pypantera and dp-diffractor (``requirements-peers.txt``). They need older libraries than
ours, so they live in an environment of their own, made with Python 3.11 or 3.12::

    python3 -m venv peers && peers/bin/pip install -r requirements-peers.txt
    python -m dptext_core bench peers --peers-python peers/bin/python

Each side runs in a process of its own, ours in this environment, theirs in the other one, with the same number of
threads; timings take turns, so that other load on the machine meets both alike. Nothing is downloaded: dp-diffractor
finds the vectors under the name of a file that it would else fetch, and NLTK finds an empty stop word list.

What is compared for each mechanism:

- words per second over texts of twenty words, each side as its interface offers it, on the vocabulary asked for;
- the peak memory of the process once it has rewritten those texts (without the helper processes it starts);
- the output distributions of a few test words, by their total variation: ours in closed form where there is one, else
  by draws; theirs by draws. Beside it stands the total variation that two equal distributions show by chance with as
  many draws, and the verdict is "same" unless this or N_w differs more than in one of a thousand equal pairs. This is
  done on the 2,000 most frequent words and the first 64 numbers of their vectors, where theirs are fast enough for
  draws that tell; no formula depends on either;
- where their formula is another one (``Peer.reason``), their draws against a reference of that formula as we read it,
  which shows whether this explains the difference.

Both sides get the same ε; how large it is follows from the vectors (`Peer.scale`), so that words both stay and change.

``table`` says what is compared, ``formulas`` what their code computes, ``difference`` whether two distributions are the
same, ``worker`` is one side, ``process`` starts both, ``compare`` asks them, ``report`` prints. Theirs gets no more of
this package than ``worker`` and ``formulas``, which need nothing but NumPy.
"""
