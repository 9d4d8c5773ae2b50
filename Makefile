# make help: lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
# uv compiles no packages: Python keeps what it compiles, or each process would compile it again.
unexport PYTHONDONTWRITEBYTECODE

# Functions run on 3.13. An environment that is there is kept; `make PYTHON=…` selects another Python, and makes it again.
ifdef PYTHON
OTHER_PYTHON := $(shell test "$$($(PYTHON) -V 2>&1)" = "$$($(or $(VENV),.venv)/bin/python -V 2>&1)" || echo remade)
else
PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
endif
VENV ?= .venv
SAM_VENV ?= .venv-sam
REVIEW_VENV ?= .venv-review
PROTOS_VENV ?= .venv-protos
GO ?= go
MUTANTS_VENV ?= .venv-mutants
BIN := $(VENV)/bin

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

# uv installs the locks in a quarter of pip's time. --no-deps, because they are complete.
INSTALL = $(BIN)/uv pip install --quiet --require-hashes --no-deps

$(VENV)/.uv: requirements-uv.lock $(OTHER_PYTHON)
	@test -n "$(PYTHON)" || { echo "postroom needs Python 3.11, 3.12 or 3.13; none was found. Name one: make PYTHON=/path/to/python3.13 …" >&2; exit 1; }
	@test "$$($(PYTHON) -V 2>&1)" = "$$($(BIN)/python -V 2>&1)" || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r requirements-uv.lock
	@touch $@

.PHONY: remade
remade:

$(VENV)/.installed: requirements.lock pyproject.toml $(VENV)/.uv
	@echo "installing 158 pinned packages into $(VENV), once; it takes half a minute …"
	@$(INSTALL) --python $(BIN)/python -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

# aws-sam-cli, checkov and protoc pin other versions than we do, so each has an environment of its own.
$(SAM_VENV)/.installed: requirements-sam.lock
$(REVIEW_VENV)/.installed: requirements-review.lock
$(PROTOS_VENV)/.installed: requirements-protos.lock
$(SAM_VENV)/.installed $(REVIEW_VENV)/.installed $(PROTOS_VENV)/.installed: | $(VENV)/.uv
	@echo "installing the packages of $< into $(@D), once; it takes some seconds …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	@$(INSTALL) --python $(@D)/bin/python -r $<
	@touch $@

.PHONY: install
install: $(VENV)/.installed ## create the virtual environment, with pinned versions

.PHONY: demo
demo: $(VENV)/.installed ## run the demo on the real template, in about a minute
	@$(BIN)/postroom demo

.PHONY: up
up: $(VENV)/.installed ## run the local stack until Ctrl-C; STATE=dir keeps its state, ZONES=dir serves more zones; PORT=n DNS_PORT=n AWS_PORT=n; QUEUE_PROCESSES=n HTTP_PROCESSES=n of each function; QUIET=1 does not print what happens to messages
	@exec $(BIN)/postroom up $(if $(STATE),--state "$(STATE)") $(if $(ZONES),--zones "$(ZONES)") $(if $(PORT),--port $(PORT)) \
		$(if $(DNS_PORT),--dns-port $(DNS_PORT)) $(if $(AWS_PORT),--aws-port $(AWS_PORT)) \
		$(if $(QUEUE_PROCESSES),--queue-processes $(QUEUE_PROCESSES)) $(if $(HTTP_PROCESSES),--http-processes $(HTTP_PROCESSES)) \
		$(if $(QUIET),--quiet)

.PHONY: test
test: $(VENV)/.installed ## run the quick tests, before each commit; ARGS="-k inbox" selects some
	@$(BIN)/pytest --tier quick -n 2 --dist loadgroup $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.installed $(SAM_VENV)/.installed $(PROTOS_VENV)/.installed ## run all tests except those of a release, before each merge; ARGS as for test
	@$(BIN)/pytest --tier all -n 2 --dist loadgroup $(ARGS)

.PHONY: proof
proof: $(VENV)/.installed $(SAM_VENV)/.installed $(PROTOS_VENV)/.installed ## run every fault, full examples and the soak test, before each release; MINUTES=n runs a part
	@$(BIN)/python -m tests.proof $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

# Tests run there beside the tools, so it is an environment like $(VENV), with more packages.
$(MUTANTS_VENV)/.mutants: requirements-mutants.lock requirements.lock pyproject.toml | $(VENV)/.uv
	@$(MAKE) --no-print-directory install VENV=$(MUTANTS_VENV) PYTHON=$(BIN)/python
	@$(INSTALL) --python $(MUTANTS_VENV)/bin/python -r requirements-mutants.lock
	@touch $@

.PHONY: mutants
mutants: $(MUTANTS_VENV)/.mutants ## put the faults of a sample into copies of the library, and list those that no test finds; ARGS="--seed 7" draws another sample
	@$(MUTANTS_VENV)/bin/python -m tests.mutants.by_tool --jobs 2 $(ARGS)

.PHONY: check
check: $(VENV)/.installed ## run ruff, mypy --strict and import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: unasync
unasync: $(VENV)/.installed ## generate the client's sync.py from its aio.py, and the aio.py of chats from their classes
	@$(BIN)/python -m tests.client.unasync
	@$(BIN)/python -m tests.client.unasync_chats

.PHONY: protos
protos: $(PROTOS_VENV)/.installed ## generate the code of Status's payloads from payloads.proto, and the Go program's where Go is
	@cd layers/postroom && $(abspath $(PROTOS_VENV))/bin/python -m grpc_tools.protoc --proto_path=. \
		--python_out=$(or $(OUT),.) --pyi_out=$(or $(OUT),.) postroom/protocols/status/proto/payloads.proto
	@command -v "$(GO)" > /dev/null || { echo "Go was not found; payloads.pb.go stays as it is" >&2; exit 0; }; \
		cd tests/peers/status && $(abspath $(PROTOS_VENV))/bin/python -m grpc_tools.protoc --proto_path=. \
		--plugin=protoc-gen-go="$$($(GO) tool -n protoc-gen-go)" --go_out=$(or $(OUT),.) --go_opt=paths=source_relative \
		payloads/payloads.proto

TEMPLATES := template.yaml glue_jobs/jobs.yaml functions/alarms.yaml functions/inbox/hosts.yaml
.PHONY: review
review: $(SAM_VENV)/.installed $(REVIEW_VENV)/.installed ## check the templates with cfn-lint, sam validate and checkov; .ci/checkov.yaml explains the skipped checks
	@$(SAM_VENV)/bin/cfn-lint $(TEMPLATES)
	@for template in $(TEMPLATES); do SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1 \
		$(SAM_VENV)/bin/sam validate --lint --template $$template || exit; done
	@$(REVIEW_VENV)/bin/checkov --config-file .ci/checkov.yaml --file $(TEMPLATES)

.PHONY: rie
rie: $(VENV)/.installed $(SAM_VENV)/.installed ## send each file of events/ to the built functions, in AWS's Runtime Interface Emulator (Linux)
	@$(BIN)/pytest -n 0 -v tests/built/test_rie.py

.PHONY: sam-local
sam-local: $(VENV)/.installed $(SAM_VENV)/.installed ## run the inbox in AWS's image of the runtime, with sam local (needs Docker)
	@docker info > /dev/null 2>&1 || { echo "make sam-local needs Docker, which does not answer here. \`make rie\` runs" \
		"the built functions with the same runtime interface, without Docker." >&2; exit 1; }
	@$(BIN)/pytest -n 0 -v tests/built/sam_local.py

.PHONY: bench
bench: $(VENV)/.installed ## run the benchmarks, as ratios measured side by side; WRITE=1 writes docs/evidence/benchmarks.md
	@$(BIN)/python -m benchmarks $(if $(WRITE),--write)

.PHONY: soak
soak: $(VENV)/.installed ## send mail through crashes and faults, then audit it; MESSAGES=n MINUTES=n SEED=n, WRITE=1 writes docs/evidence/soak.md
	@$(BIN)/python -m tests.soak $(if $(MESSAGES),--messages $(MESSAGES)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write)

# atheris 3.0.0 has wheels for all our Pythons on Linux x86-64; building it needs a toolchain.
$(VENV)/.fuzz: requirements-fuzz.lock $(VENV)/.installed
	@$(INSTALL) --python $(BIN)/python --only-binary :all: -r requirements-fuzz.lock || { \
		echo "make fuzz needs atheris, which has wheels for Linux on x86-64 and Python" "3.11 to 3.13 only. Elsewhere, \`make test\` tests the same parsers with hypothesis." >&2; exit 1; }
	@touch $@

.PHONY: fuzz
fuzz: $(VENV)/.fuzz ## search for inputs that break a parser; MINUTES=n in all, ENTRY=name for one, KEEP=1 keeps inputs of new coverage
	@$(BIN)/python -m tests.fuzz $(ENTRY) --minutes $(or $(MINUTES),10) $(if $(KEEP),--keep)

.PHONY: lock
lock: $(VENV)/.uv ## pin the newest versions that fit
	@$(BIN)/uv pip compile $(LOCK) pyproject.toml --extra chat --extra glue --extra local --extra peers --group dev -o requirements.lock
	@$(BIN)/uv pip compile $(LOCK) --group layer -c requirements.lock -o layers/postroom/requirements.txt
	@echo "uv" | $(BIN)/uv pip compile $(LOCK) - -o requirements-uv.lock
	@echo "aws-sam-cli" | $(BIN)/uv pip compile $(LOCK) - -o requirements-sam.lock
	@echo "awslambdaric" | $(BIN)/uv pip compile $(LOCK) - -o requirements-rie.lock
	@echo "playwright" | $(BIN)/uv pip compile $(LOCK) - -o requirements-browser.lock
	@printf 'web3==8.0.0\npyunormalize<18\n' | $(BIN)/uv pip compile $(LOCK) - -o requirements-web3.lock
	@echo "checkov" | $(BIN)/uv pip compile $(LOCK) - -o requirements-review.lock
	@echo "grpcio-tools==1.76.0" | $(BIN)/uv pip compile $(LOCK) - -o requirements-protos.lock
	@echo "atheris==3.0.0" | $(BIN)/uv pip compile $(LOCK) - -o requirements-fuzz.lock
	@printf 'cosmic-ray\npytest-cov\n' | $(BIN)/uv pip compile $(LOCK) -c requirements.lock - -o requirements-mutants.lock
LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

.PHONY: clean
clean: ## remove everything that make created here
	@rm -rf $(VENV) .venv-glue .venv-3.* $(SAM_VENV) $(REVIEW_VENV) $(PROTOS_VENV) $(MUTANTS_VENV) build .aws-sam .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
