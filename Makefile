# make help: what there is to make.
SHELL := /bin/sh
.DEFAULT_GOAL := help

# The first Python of a supported version; `make PYTHON=…` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
SAM_VENV ?= .venv-sam
REVIEW_VENV ?= .venv-review
BIN := $(VENV)/bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

# The locks are whole: older pips trip over extras when they resolve under hashes.
$(VENV)/.installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "postroom needs Python 3.11, 3.12 or 3.13; none was found. Name one: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }
	@echo "installing into $(VENV) (pinned versions, once) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# aws-sam-cli pins what we pin otherwise: an environment of its own.
$(SAM_VENV)/.installed: requirements-sam.lock
	@echo "installing aws-sam-cli into $(SAM_VENV) (once) …"
	@$(PYTHON) -m venv $(SAM_VENV)
	@$(SAM_VENV)/bin/pip install --no-compile --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-sam.lock
	@touch $@

# checkov, too, pins what others pin otherwise.
$(REVIEW_VENV)/.installed: requirements-review.lock
	@echo "installing checkov into $(REVIEW_VENV) (once) …"
	@$(PYTHON) -m venv $(REVIEW_VENV)
	@$(REVIEW_VENV)/bin/pip install --no-compile --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-review.lock
	@touch $@

.PHONY: install
install: $(VENV)/.installed ## the virtual environment, with pinned versions

.PHONY: demo
demo: $(VENV)/.installed ## the main job as a story, on the real template, in about a minute
	@$(BIN)/postroom demo

.PHONY: up
up: $(VENV)/.installed ## the local stack, until Ctrl-C; STATE=dir keeps its state, ZONES=dir serves more zones, PORT=n DNS_PORT=n AWS_PORT=n, QUEUE_PROCESSES=n HTTP_PROCESSES=n of each function
	@exec $(BIN)/postroom up $(if $(STATE),--state "$(STATE)") $(if $(ZONES),--zones "$(ZONES)") $(if $(PORT),--port $(PORT)) \
		$(if $(DNS_PORT),--dns-port $(DNS_PORT)) $(if $(AWS_PORT),--aws-port $(AWS_PORT)) \
		$(if $(QUEUE_PROCESSES),--queue-processes $(QUEUE_PROCESSES)) $(if $(HTTP_PROCESSES),--http-processes $(HTTP_PROCESSES))

.PHONY: test
test: $(VENV)/.installed $(SAM_VENV)/.installed ## before each commit: the quick tests; ARGS="-k inbox" chooses some
	@$(BIN)/pytest --tier quick -n 2 --dist loadgroup $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.installed $(SAM_VENV)/.installed ## before each merge: all tests but those of a release; ARGS as for test
	@$(BIN)/pytest --tier all -n 2 --dist loadgroup $(ARGS)

.PHONY: proof
proof: $(VENV)/.installed $(SAM_VENV)/.installed ## before each release: every fault, full examples, the soak; MINUTES=n plays a slice
	@$(BIN)/python -m tests.proof $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

.PHONY: check
check: $(VENV)/.installed ## ruff, mypy --strict, and the walls between the rooms
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: unasync
unasync: $(VENV)/.installed ## the client's sync.py, written from its aio.py
	@$(BIN)/python -m tests.client.unasync

TEMPLATES := template.yaml glue_jobs/jobs.yaml functions/alarms.yaml functions/inbox/hosts.yaml
.PHONY: review
review: $(SAM_VENV)/.installed $(REVIEW_VENV)/.installed ## the templates under cfn-lint, sam validate and checkov; .ci/checkov.yaml says what is left out, and why
	@$(SAM_VENV)/bin/cfn-lint $(TEMPLATES)
	@for template in $(TEMPLATES); do SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1 \
		$(SAM_VENV)/bin/sam validate --lint --template $$template || exit; done
	@$(REVIEW_VENV)/bin/checkov --config-file .ci/checkov.yaml --file $(TEMPLATES)

.PHONY: rie
rie: $(VENV)/.installed $(SAM_VENV)/.installed ## each file of events/ through what `sam build` built, under AWS's Runtime Interface Emulator (Linux)
	@$(BIN)/pytest -n 0 -v tests/built/test_rie.py

.PHONY: sam-local
sam-local: $(VENV)/.installed $(SAM_VENV)/.installed ## the door in AWS's own image of the runtime, under sam local (needs Docker)
	@docker info > /dev/null 2>&1 || { echo "make sam-local needs Docker, and none answers here. \`make rie\` shows the" \
		"built functions under the same runtime interface without it." >&2; exit 1; }
	@$(BIN)/pytest -n 0 -v tests/built/sam_local.py

.PHONY: bench
bench: $(VENV)/.installed ## the benchmarks, as ratios measured side by side in one run; WRITE=1 writes docs/evidence/benchmarks.md
	@$(BIN)/python -m benchmarks $(if $(WRITE),--write)

.PHONY: soak
soak: $(VENV)/.installed ## the flow through crashes and faults, its ledger audited; MESSAGES=n MINUTES=n SEED=n, WRITE=1 writes docs/evidence/soak.md
	@$(BIN)/python -m tests.soak $(if $(MESSAGES),--messages $(MESSAGES)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write)

# atheris 3.0.0 is the one with wheels for all our Pythons, on Linux on x86-64; to build it takes a toolchain.
$(VENV)/.fuzz: requirements-fuzz.lock $(VENV)/.installed
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
		-r requirements-fuzz.lock || { echo "make fuzz needs atheris, which has wheels for Linux on x86-64 and Python" \
		"3.11 to 3.13 only. Elsewhere \`make test\` searches the same entries, with hypothesis." >&2; exit 1; }
	@touch $@

.PHONY: fuzz
fuzz: $(VENV)/.fuzz ## inputs that break a parser; MINUTES=n for all of them, ENTRY=name for one, KEEP=1 keeps what leads on
	@$(BIN)/python -m tests.fuzz $(ENTRY) --minutes $(or $(MINUTES),10) $(if $(KEEP),--keep)

.PHONY: lock
lock: ## pin the newest versions that fit (needs uv)
	@uv pip compile $(LOCK) pyproject.toml --extra glue --extra local --extra peers --group dev -o requirements.lock
	@uv pip compile $(LOCK) --group layer -c requirements.lock -o layers/postroom/requirements.txt
	@echo "aws-sam-cli" | uv pip compile $(LOCK) - -o requirements-sam.lock
	@echo "awslambdaric" | uv pip compile $(LOCK) - -o requirements-rie.lock
	@echo "checkov" | uv pip compile $(LOCK) - -o requirements-review.lock
	@echo "atheris==3.0.0" | uv pip compile $(LOCK) - -o requirements-fuzz.lock
LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

.PHONY: clean
clean: ## remove what was made here
	@rm -rf $(VENV) $(SAM_VENV) $(REVIEW_VENV) build .aws-sam .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
