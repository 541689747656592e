"""The laboratory: it measures, stores and reads the bundled results.

Layers, each of which imports those below it::

    commands                     what ``python -m dptext_core bench NAME`` runs
    measurements, peers, speed   one measurement per file; released packages; our own speed
    training                     pre-training of an autoencoder, sentence banks
    runner                       the grid of ``bench run``: data sets, tasks, scores, processes
    findings                     tests of claims from papers
    results                      types of rows, readers of files, series and tables, without any measurement
"""
