"""A data set in blocks over many workers (``blocks``), and workers in processes of this machine (``processes``)."""

#: Rows of a block: enough that a block takes a worker longer than its way there and back.
BLOCK = 512
