"""The commands of the laboratory, one a file."""

#: What each does, in the order in which ``--help`` lists them.
COMMANDS = {
    "bench": "measure; bench NAME --help lists the options",
    "bank": "make a bank of public sentences for dp-sentence, or say how near one comes to texts of yours",
    "pretrain": "train an autoencoder on texts of your own, for --mechanism adept",
    "downstream": "train and test a classifier on original or rewritten data",
    "runs": "what runs over data sets found",
    "case-study": "DP-Rewrite's case study: what a pre-trained model remembers",
}
