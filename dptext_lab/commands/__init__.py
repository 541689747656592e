"""The commands of the laboratory, one per module."""

#: The help of each command, in the order of ``--help``.
COMMANDS = {
    "bench": "run a measurement (options: bench NAME --help)",
    "bank": "build a bank of public sentences for dp-sentence, or measure how well one covers your texts",
    "pretrain": "train an autoencoder on your own texts, for --mechanism adept",
    "downstream": "train and test a classifier on original or rewritten data",
    "runs": "compare the results of several runs",
    "case-study": "run DP-Rewrite's case study on what a pre-trained model memorises",
}
