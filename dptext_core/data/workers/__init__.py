"""A data set in blocks over many workers (``blocks``), and workers in processes of this machine (``processes``)."""

#: Rows per block: enough that computing takes a worker longer than the transfer.
BLOCK = 512
