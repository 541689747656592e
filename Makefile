# What a developer runs every day: see CONTRIBUTING.md. VENV names another environment, PYTHON another interpreter.
VENV ?= .venv
PYTHON ?= $(or $(wildcard $(VENV)/bin/python),python3)
OUT ?= build/gpu
# Minutes of training, and the text for it: make gpu TRAIN=5 TEXT=lines.txt
TRAIN ?=
TEXT ?=

.PHONY: setup app test test-fast lint docs figures sbom gpu

# Create the environment for the app and the tests, and install the Git hooks.
setup:
	python3 -m venv --upgrade-deps $(VENV)
	$(VENV)/bin/python -m pip install -r requirements.txt -r requirements-dev.txt -r requirements-hooks.txt
	$(VENV)/bin/python -m pre_commit install

# Open the app.
app:
	$(PYTHON) -m streamlit run app.py

# Run all tests except the slow ones.
test:
	$(PYTHON) -m pytest -n 3

# Run the unit tests: no PyTorch, no Streamlit, no browser.
test-fast:
	$(PYTHON) -m pytest -n 2 -m "unit and not slow"

# Check style, types and imports between packages.
lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(VENV)/bin/lint-imports

# Build the documents as a site in build/site.
docs:
	python3 -m venv build/docs
	build/docs/bin/python -m pip install -q -r requirements-docs.txt
	build/docs/bin/python -m mkdocs build --strict

# List what an installation of the wheel in dist/ is made of, with versions and licences (CycloneDX), in build/sbom.json.
sbom:
	python3 -m venv build/whole build/cyclonedx
	build/whole/bin/python -m pip install -q "$$(echo dist/*.whl)[app,torch]"
	build/cyclonedx/bin/python -m pip install -q cyclonedx-bom==7.5.0
	build/cyclonedx/bin/python -m cyclonedx_py environment build/whole/bin/python --pyproject pyproject.toml \
		--output-reproducible --output-file build/sbom.json

# Draw every figure of the documents from the app and the bundled results.
figures:
	$(PYTHON) tests/e2e/take_pictures.py
	$(PYTHON) tests/e2e/draw_public_prior.py --out assets/pictures/public_prior.png

# Check and measure on a GPU: see docs/measurements/performance.md.
gpu:
	$(PYTHON) tools/check_gpu.py --out $(OUT) $(if $(TRAIN),--train $(TRAIN) --text $(TEXT))
