PYTHON ?= .venv/bin/python
PYTEST_ARGS ?= -n 2

.PHONY: setup check format lint types test docs soak clean

setup:  ## make .venv with everything that development needs
	python3 -m venv .venv
	.venv/bin/pip install -c constraints.txt -e '.[cpu,formats,minilm,dev]'

check: lint types test  ## format, lint, strict types, tests

format:  ## put every file into its standard form
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	$(PYTHON) -m pytest $(PYTEST_ARGS)

docs:  ## write docs/cli.md and docs/settings.md anew
	$(PYTHON) -m pipelines.reference docs

soak:  ## hours of fault injection, run before a release
	$(PYTHON) -m pytest -m soak --timeout=7200

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
