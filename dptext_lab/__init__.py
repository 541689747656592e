"""The laboratory: what makes and reads the bundled results.

Layers, each of which imports those below it::

    commands                     what ``python -m dptext_core bench NAME`` runs
    measurements, peers, speed   one measurement a file; released packages; our own speed
    training                     pre-training of an autoencoder, banks of sentences
    runner                       the grid of ``bench run``: data sets, tasks, scores, processes
    findings                     claims of papers, decided by results
    results                      types of rows, readers of files, series and tables; nothing here measures
"""
