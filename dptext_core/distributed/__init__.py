"""Ray, an optional extra: workers for data sets (``actors``) and replicas of masked language models (``replicas``).

No other package imports this one. The command line registers its commands. The options ``--engine ray`` and
``DPTEXT_ENGINE`` load it by name.
"""

#: The description of each, in the order in which ``--help`` lists them.
COMMANDS = {"serve-model": "serve a masked language model on a Ray cluster (see docs/scale.md in the repository)"}
