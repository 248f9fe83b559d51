# The words that people and CI use. `make help` prints them. Every word installs what it needs.
.DEFAULT_GOAL := help
.PHONY: help demo test test-unit conformance chaos chaos-memory lint cluster-up cluster-down image crds chart bench scale lock venv programs

CLUSTER ?= mcptasks
TASKS ?= 1000
SEEDS ?= 6
FIRST_SEED ?= 1
# How many processes share the tests, each with clusters of its own; a file goes to one of them, in the usual order.
# 0 is this process alone. Those on whole clusters have a number of their own.
WORKERS ?= 2
CLUSTER_WORKERS ?= 0
SHARED := --dist loadfile --no-loadscope-reorder
BIN := .venv/bin
DEVCLUSTER := $(BIN)/python -m mcptasks_devcluster

help: ## Print these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: venv ## The main job, from nothing: cluster, image, helm install, real tools called by a real client
	$(BIN)/python -m examples.demo --cluster $(CLUSTER)

test: lint programs ## Everything: lint, types, and all tests, those on a real cluster included
	$(BIN)/pytest -n $(WORKERS) $(SHARED) -m "not cluster"
	$(BIN)/pytest -n $(CLUSTER_WORKERS) $(SHARED) -m cluster

test-unit: venv ## The tests that need neither cluster nor network (about a minute)
	$(BIN)/pytest -n $(WORKERS) $(SHARED) -m "not apiserver and not cluster"

conformance: programs ## The official MCP conformance suite alone, against two replicas on a real cluster; prints the counts
	$(BIN)/pytest tests/cluster/conformance

chaos: TASKS = 60
chaos: venv ## Storms of faults against a real cluster: SEEDS=6 FIRST_SEED=1 TASKS=60
	MCPTASKS_CHAOS_SEEDS=$(SEEDS) MCPTASKS_CHAOS_FIRST_SEED=$(FIRST_SEED) MCPTASKS_CHAOS_TASKS=$(TASKS) \
	  $(BIN)/pytest tests/chaos/test_chaos.py

chaos-memory: venv ## 2,000 tasks through one operator: its memory stays flat
	MCPTASKS_CHAOS_MEMORY_TASKS=2000 $(BIN)/pytest tests/chaos/test_memory.py

lint: venv ## ruff, mypy, import-linter, codespell, and generated files that are stale
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python -m mcptasks_crds.manifest --check

cluster-up: venv ## Bring up a Kubernetes: a named context, kind where Docker is, else one built from source
	$(DEVCLUSTER) up --name $(CLUSTER)

cluster-down: venv ## Remove that cluster (programs and images stay in the cache)
	$(DEVCLUSTER) down --name $(CLUSTER)

image: venv ## Build the image, with docker, podman or buildah
	$(DEVCLUSTER) image

crds: venv ## Write the CRDs into the chart, from the models
	$(BIN)/python -m mcptasks_crds.manifest

chart: venv ## Lint and package the Helm chart into dist/
	$$($(DEVCLUSTER) bin helm) lint charts/mcptasks
	$$($(DEVCLUSTER) bin helm) package charts/mcptasks --destination dist

bench: venv ## Measure, as ratios in one run, on the cluster; prints a table and writes benchmarks/results/
	$(BIN)/python -m benchmarks.run --cluster $(CLUSTER)

scale: venv ## Many tasks on simulated nodes, TASKS=1000 of them, beside bare Jobs; prints a table (about half an hour)
	$(BIN)/python -m benchmarks.scale --tasks $(TASKS)

lock: venv ## Lock the dependencies anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes \
	  --all-extras --group dev --output-file locks/dev.txt
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes \
	  --extra operator --extra server --constraints locks/dev.txt --output-file locks/runtime.txt
	echo 'hatchling>=1.27,<2' | $(BIN)/uv pip compile - --quiet --universal --python-version 3.11 --no-emit-index-url \
	  --generate-hashes --output-file locks/build.txt

venv:
	@scripts/bootstrap

# What takes minutes once on a new machine: made here, where no test's time limit runs.
programs: venv
	$(DEVCLUSTER) build
	$(DEVCLUSTER) image --tag test
	$(DEVCLUSTER) image --tag test --target examples
	$(DEVCLUSTER) image --tag test --target conformance
	@for set in tests/node/*/; do $(DEVCLUSTER) npm $$set || exit 1; done
	@for set in tests/clients/*/requirements.txt; do $(DEVCLUSTER) pip $${set%/*} || exit 1; done
