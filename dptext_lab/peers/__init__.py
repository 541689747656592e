"""Compare our word-level mechanisms with released packages: same words, vectors, ε and run.

The packages are mldp-text, pypantera and dp-diffractor (``requirements-peers.txt``). They need older libraries than
ours, so they have a separate environment with Python 3.11 or 3.12::

    python3 -m venv peers && peers/bin/pip install -r requirements-peers.txt
    python -m dptext_core bench peers --peers-python peers/bin/python

Each side runs in a separate process, ours in this environment and theirs in the other, with the same number of threads.
Timings take turns, so other load on the machine affects both equally. Nothing is downloaded: dp-diffractor reads the
vectors from a file with the name of its download, and NLTK reads an empty stop word list.

The comparison of each mechanism has:

- words per second over texts of twenty words, through each side's interface, on the requested vocabulary;
- the peak memory of the process after rewriting these texts (without its helper processes);
- the total variation between the output distributions of a few test words. Ours are in closed form if possible, and
  otherwise sampled, like theirs. The table also has the expected total variation of equal distributions with as many
  draws. The verdict is "same" unless it or N_w differs more than in one of a thousand equal pairs. The test uses the
  2,000 most frequent words and the first 64 dimensions of their vectors, at which their code is fast enough. No formula
  depends on either;
- if their formula differs (``Peer.reason``), their draws against a reference implementation of it, to show whether this
  explains the difference.

Both sides get the same ε. It depends on the vectors (`Peer.scale`), so that some words change and some do not.

``table`` lists the comparisons, ``formulas`` has their formulas, and ``difference`` tests whether two distributions are
equal. ``worker`` is one side, ``process`` starts both, ``comparison`` runs them, and ``report`` prints. Their process
imports only ``worker`` and ``formulas`` from this package, which need only NumPy.
"""
