"""Beyond one process: a data set in blocks over many workers (``blocks``), workers in processes of this machine
(``processes``) and of a Ray cluster (``cluster``), and masked language models behind Ray Serve (``serving``).

Ray is an option (requirements-ray.txt): only ``cluster`` and ``serving`` know it, by way of ``ready``.
"""

#: Rows of a block: enough that a block takes a worker longer than its way there and back.
BLOCK = 512
