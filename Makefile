# Two commands do everything on a fresh machine: `make demo` and `make test`; `make check` is for every push.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
COMPILED := .venv/.compiled
export PYTHONPATH := shared:.
export UV_HTTP_TIMEOUT := 300
# Some images forbid Python to keep what it compiled: then each of the processes that a test starts compiles anew.
unexport PYTHONDONTWRITEBYTECODE
SEEDS ?= 100000
# The processes that share the tests: four on two cores, since the lanes of local runs mostly wait.
WORKERS ?= 4
# The rules and services, in this process alone: not the clients, the HTTP edge, simulators or a local run.
PURE := tests/test_architecture.py tests/tracker tests/grouper tests/queue tests/quotas tests/change_archive tests/sqs_worker
SPARK ?= 4.0.2
SPARKS_PYTHON ?= $(BIN)/python
SPARKS_VENV := .venv-spark-$(SPARK)
ARGS ?=

.PHONY: help demo check test suite proof test-spark test-versions first-minutes setup lint types pure synth pipeline-zip deploy simulate mutants races requests scale lab grouping jobs doorbells watching bulk spark reconciling round-trip last-ack workers ways-to-ack scale-limits local-run peers start cost openapi docs diagrams watch-picture lock audit clean cli-reference conformance conforming soak mutation crashes faults witness smoke fuzz

demo: setup ## the main job: a real catalog through Spark, SQS and Lambda to one completion
	@$(BIN)/python -m examples.catalog $(ARGS)

.DEFAULT:
	@echo "there is no target '$@'; make help lists them" >&2; exit 2

help: ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

check: setup ## lint, types, and the tests of rules and services, in about a minute: before every push
	@$(MAKE) --no-print-directory -j 2 lint types pure

# The types beside the tests: they leave a core idle at times.
test: setup lint ## everything that CI runs, in 7 to 10 minutes
	@$(MAKE) --no-print-directory -j 2 types suite

suite: setup ## the tests alone
	@$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

proof: setup ## what takes hours, in stages; ARGS="--only mutants" for one
	@$(BIN)/python -m tests.proof $(ARGS)

test-spark: $(SPARKS_VENV)/.installed ## the pipeline's tests on another Spark: SPARK=4.0.2 as on EMR, 4.3.0, ...
	@$(SPARKS_VENV)/bin/python -m pytest tests/pipeline $(ARGS)

test-versions: setup ## the tests on the lowest and the newest version of each range of pyproject.toml
	@$(BIN)/python -m tests.versions $(ARGS)

first-minutes: setup ## the tutorial on a machine with uv alone: installed, started, run as it stands, timed
	@$(BIN)/python -m tests.first_minutes

# Everything as requirements-dev.txt pins it, but for Spark itself.
$(SPARKS_VENV)/.installed: $(INSTALLED)
	@echo "installing Spark $(SPARK) into $(SPARKS_VENV)"
	@test -x $(SPARKS_VENV)/bin/python || $(BIN)/uv venv --quiet --python $(SPARKS_PYTHON) $(SPARKS_VENV)
	@sed "s/^pyspark==[^ ]*/pyspark==$(SPARK)/" requirements-dev.txt > $(SPARKS_VENV)/versions.txt
	@$(BIN)/uv pip sync --quiet --python $(SPARKS_VENV)/bin/python --no-verify-hashes $(SPARKS_VENV)/versions.txt
	@$(BIN)/uv pip install --quiet --python $(SPARKS_VENV)/bin/python --no-deps --editable .
	@touch $@

setup: $(INSTALLED) $(COMPILED) ## install everything into .venv, once

$(INSTALLED): requirements-dev.txt pyproject.toml
	@sh .ci/prerequisites $(PYTHON)
	@echo "installing into .venv (about 2 GB with Spark, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet uv==0.13.8
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements-dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

# Optional: where nothing compiles, it says so, and NumPy does the same.
$(COMPILED): $(INSTALLED) pipeline/compiled_fold/kernel.c pipeline/compiled_fold/building.py
	@$(BIN)/python -m pipeline.compiled_fold.building
	@touch $@

lint: setup ## ruff: the rules and the form
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .

types: setup ## mypy, strict, and pyrefly for the use of the CDK
	@$(BIN)/mypy
	@env -u PYTHONPATH $(BIN)/pyrefly check --summary=none

pure: setup ## the tests of rules and services, in this process alone
	@$(BIN)/python -m pytest -q -n 2 $(PURE)

synth: setup ## the CloudFormation template, offline, into build/cdk.out
	@CDK_OUTDIR=build/cdk.out $(BIN)/python -m infra.app
	@echo "wrote $$(ls -t build/cdk.out/*.template.json | head -n 1)"

pipeline-zip: setup ## build/fanin-pipeline.zip, for spark-submit --py-files
	@mkdir -p build && $(BIN)/python -m infra.pipeline_code build/fanin-pipeline.zip

deploy: setup ## cdk deploy into the account of your credentials
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m infra.cli deploy $(ARGS)

simulate: setup ## the protocol under faults: SEEDS schedules of the production code
	@for room in simulation simulation_grouper simulation_queue simulation_parts simulation_seams; do \
	  echo "$$room" && $(BIN)/python -m tests.$$room.run --seeds $(SEEDS) --jobs 2 $(ARGS) || exit 1; done

mutants: setup ## broken rules, each with a seed that finds it
	@for room in simulation simulation_grouper simulation_queue simulation_parts simulation_seams; do \
	  echo "$$room" && $(BIN)/python -m tests.$$room.mutants $(ARGS) || exit 1; done

fuzz: setup ## 10,000 broken requests, and deliveries, against all handlers: ARGS="--requests 10000 --seed 1"
	@$(BIN)/python -m tests.fuzz $(ARGS)

mutation: setup ## mutants that a program makes of rules, stores and requests: which tests notice; ARGS="--sample 300"
	@$(BIN)/python -m tests.mutation $(ARGS)

lab: setup ## the tests of the measurements in lab
	@$(BIN)/python -m pytest -n 2 lab/tests $(ARGS)

races: setup ## close against the last ack, and two last acks, over HTTP on the local run
	@$(BIN)/python -m lab.local.races $(ARGS)

crashes: setup ## every handler killed before and after each request it makes, then called again; a table
	@$(BIN)/python -m tests.crashes $(ARGS)

faults: setup ## live schedules over HTTP, SQS and streams, with faults between the functions and the emulator
	@$(BIN)/python -m tests.soak --schedules 300 $(ARGS)

witness: setup ## the contract suites on memory, moto, the emulator and dynalite: cases, expressions, differences
	@$(BIN)/python -m tests.witness $(ARGS)

smoke: setup ## STAGE=name: a deployed stage, step by step, for less than a cent; asks first, and cleans up
	@$(BIN)/python -m tests.smoke --stage "$(STAGE)" $(ARGS)

conformance: setup ## fanin on a local run by the cases that judge any tracker; ARGS="--rounds 10000 --items 10000000": all
	@$(BIN)/python -m tests.conformance $(ARGS)

conforming: setup ## other trackers by those cases, into docs/conformance.md; needs redis-server and Node
	@$(BIN)/python -m lab.conforming

soak: setup ## mixed load on a local run with killed and frozen workers and functions, and faults on the wire; ARGS="--minutes 30 --seed 1 --spark"
	@$(BIN)/python -m tests.soak $(ARGS)

requests: setup ## DynamoDB requests an ack, counted on the wire
	@$(BIN)/python -m lab.requests.acks $(ARGS)

scale: setup ## 1,000 items beside 10,000,000: rows and latency of an ack, outstanding, storage
	@$(BIN)/python -m lab.requests.scale $(ARGS)

grouping: setup ## a burst of tasks, bundled for a batch API that throttles and fails: each is done once
	@$(BIN)/python -m lab.local.grouping $(ARGS)

jobs: setup ## jobs whose workers are killed and frozen, on the local run: each is acked once
	@$(BIN)/python -m lab.local.jobs $(ARGS)

doorbells: setup ## how soon a worker takes a job while 10,000 wait in another queue, on the local run
	@$(BIN)/python -m lab.local.doorbells $(ARGS)

watching: setup ## read units of 1 to 1,000 workers that watch each other, in virtual time
	@$(BIN)/python -m lab.requests.watching $(ARGS)

bulk: setup ## ids made and acks folded a second and core, beside the plainest way that is right
	@$(BIN)/python -m lab.pipeline.bulk $(ARGS)

spark: setup ## the Spark jobs beside DuckDB and Polars, which you install before (ARGS="--rows ...")
	@$(BIN)/python -m lab.spark $(ARGS)

reconciling: setup ## reconcile of one large batch, 2 cores: seconds, CPU, memory (ARGS="--items ... --keep")
	@$(BIN)/python -m lab.reconcile $(ARGS)

last-ack: setup ## the time from the last ack to its event, with and without immediate events, into docs/performance
	@$(BIN)/python -m lab.local.last_ack $(ARGS)
	@$(BIN)/python -m lab.pages.page last_ack

round-trip: setup ## 10,000,000 items to files, acks folded but for 137, reconciled, redriven, complete
	@$(BIN)/python -m lab.pipeline.round_trip $(ARGS)

scale-limits: setup ## the first bottleneck of each load, by the limits of DynamoDB's partitions, into docs/performance
	@$(BIN)/python -m lab.scale_limits $(ARGS)
	@$(BIN)/python -m lab.pages.page scale

# 20 minutes of one core; counts, not times, so that other work does not change them.
workers: setup ## workers of an SQS queue on one core beside loops of boto3, into docs/performance
	@$(BIN)/python -m lab.working $(ARGS)

ways-to-ack: setup ## requests, units and dollars of an ack by the way in which items are acked, into docs/performance
	@$(BIN)/python -m lab.ways_to_ack $(ARGS)
	@$(BIN)/python -m lab.pages.page ways_to_ack

peers: setup ## Celery, BullMQ, Redis, counters and rows beside fanin, into docs/performance; needs redis-server and Node
	@$(BIN)/python -m lab.peers $(ARGS)
	@$(BIN)/python -m lab.pages.page peers peers_results

local-run: setup ## first answers, acks of 40 callers, messages and the demo, with and without forks, into docs/performance
	@$(BIN)/python -m lab.local.speed $(ARGS)
	@$(BIN)/python -m lab.pages.page local_run

start: setup ## CPU and memory of the cold start of each function, beside that of boto3, into docs/performance
	@$(BIN)/python -m lab.start $(ARGS)
	@$(BIN)/python -m lab.pages.page start

cost: setup ## write docs/cost.md anew: a month in dollars, from counted units
	@mkdir -p build && $(BIN)/python -m lab.cost > build/cost.md && mv build/cost.md docs/cost.md

openapi: setup ## write docs/openapi.json and docs/events.schema.json anew
	@$(BIN)/python -m functions.openapi > docs/openapi.json
	@$(BIN)/python -m functions.openapi.ending_event > docs/events.schema.json

cli-reference: setup ## write the verbs into docs/cli.md anew
	@PYTHONPATH=shared:. $(BIN)/python -m website.cli_reference

docs: setup ## the documentation as a site, offline, into build/site; a broken link ends it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "wrote build/site/index.html; for its search: $(BIN)/python -m http.server -d build/site"

diagrams: setup ## draw the diagrams of docs/ for the site, after a change of one; needs npm and Chromium
	@npm install --loglevel=error --no-audit --no-fund --ignore-scripts --prefix build/mermaid mermaid@11.17.2
	@$(BIN)/python -m website.diagrams

watch-picture: setup ## draw docs/watch.svg, the README's moving picture, from what the program prints now
	@$(BIN)/python -m website.moving

lock: ## pin every dependency anew
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --extra dev --constraint requirements.txt --custom-compile-command "make lock" pyproject.toml \
	  -o requirements-dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --group audit --custom-compile-command "make lock" -o requirements-audit.txt

audit: setup .venv-audit/.installed ## known vulnerabilities, bills of material into build/sbom, secrets in committed files
	@$(BIN)/python -m tests.audit $(ARGS)

.venv-audit/.installed: requirements-audit.txt
	@test -x .venv-audit/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-audit
	@$(BIN)/uv pip sync --quiet --require-hashes --python .venv-audit/bin/python requirements-audit.txt
	@touch $@

clean: ## remove what was installed and built
	@rm -rf .venv .venv-audit .venv-spark-* build cdk.out node_modules
