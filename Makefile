# Checks and measurements on a GPU: see docs/measurements/performance.md.
PYTHON ?= python3
OUT ?= build/gpu

.PHONY: gpu
gpu:
	$(PYTHON) tools/check_gpu.py --out $(OUT)
