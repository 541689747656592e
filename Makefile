# Checks and measurements on a GPU: see docs/measurements/performance.md.
PYTHON ?= python3
OUT ?= build/gpu
# Minutes of training, and the text for it: make gpu TRAIN=5 TEXT=lines.txt
TRAIN ?=
TEXT ?=

.PHONY: gpu
gpu:
	$(PYTHON) tools/check_gpu.py --out $(OUT) $(if $(TRAIN),--train $(TRAIN) --text $(TEXT))
