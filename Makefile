# Everything that is done with a checkout.  `make help` lists it.

SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# One environment for the usual Python, and one for each that is named: make test PYTHON=python3.12
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
# Types are those of Python 3.11, for which alone every framework has a build.
TYPE := $(if $(filter file,$(origin PYTHON)),type)
# Its default of 4 GB is too small for all types of the tree: it would forget what it has found, ten times, and find it again.
TYPES := NODE_OPTIONS=--max-old-space-size=6144 $(BIN)/basedpyright
PYTHON_TTNN ?= $(shell for name in python3.12 python3.10; do $$name --version >/dev/null 2>&1 && command -v $$name && break; done)
WORKERS ?= 2
# Tests start many processes: what Python has compiled is kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
SEEDS ?= $(shell for i in 1 2 3 4 5; do echo $$RANDOM; done)

.PHONY: $(shell sed -nE 's/^([a-z-]+):.*\#\# .*/\1/p' $(MAKEFILE_LIST))
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 30

demo: $(VENV)/.demo  ## write a ResNet-50, compile it, run it, compare it with onnxruntime
	$(BIN)/python tools/demo.py

test: lint  ## lint, and run every test while types are checked; PYTHON=python3.12 or python3.13 takes another Python
	@$(if $(TYPE),$(TYPES) >$(VENV)/types.txt 2>&1 & types=$$!; trap 'kill $$types 2>/dev/null' EXIT;) \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=15; status=$$?; \
	$(if $(TYPE),wait $$types || status=1; cat $(VENV)/types.txt;) exit $$status

test-orders: $(VENV)/.test  ## run every test in five random orders, or in those of SEEDS="1 2"
	@failed=; for seed in $(SEEDS); do \
	  command="$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --order $$seed"; \
	  echo "$$command"; $$command || failed="$$failed $$seed"; \
	done; [ -z "$$failed" ] || { echo "to repeat: make test-orders SEEDS=\"$${failed# }\""; exit 1; }

test-distributed: $(VENV)/.test  ## compare pipelines, replicas and shards in 2, 3 and 4 processes with one process
	DISTRIBUTED=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10 tests/ttc/dist $(addprefix tests/ttc/lightning/test_,logged.py pipeline.py replicas.py resuming.py sharded.py)

test-view: $(VENV)/.view  ## test pages of `ttc view` in a Chromium that is there (Debian's package chromium)
	$(BIN)/python -m pytest tests/ttc/view

bench-view: $(VENV)/.view  ## size and speed of a page of 3,000 ops in a Chromium that is there
	$(BIN)/python tools/bench_view.py

view-picture: $(VENV)/.view  ## write the picture of a page that the README shows
	$(BIN)/python tools/view_pages.py --picture docs/images/view.png

lint: $(VENV)/.test  ## check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/.test  ## check types
	$(TYPES)

bench: $(VENV)/.test  ## time compilation and runs of the models in tools/bench.py
	$(BIN)/python tools/bench.py

conformance-networks: $(VENV)/.test  ## compare eight networks with onnxruntime on every kind of target and format
	$(BIN)/python tools/networks.py
	NETWORKS=all $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/test_networks.py

fit-costs: $(VENV)/.test  ## fit the cost tables of single ops to their timings on silicon
	$(BIN)/python tools/fit_costs.py tests/data/silicon_ops

cost-error: $(VENV)/.test  ## compare the performance model with timings of single ops on silicon
	$(BIN)/python tools/cost_error.py tests/data/silicon_ops

perf-dram: $(VENV)/.test  ## compare the performance model with measured bandwidths of DRAM
	$(BIN)/python tools/dram.py

perf-gemms: $(VENV)/.test  ## compare the performance model with published products of matrices
	$(BIN)/python tools/gemms.py

perf-schedules: $(VENV)/.test  ## how far schedules of six networks are from the engines' limit
	$(BIN)/python tools/schedules.py

perf-chips: $(VENV)/.test  ## what 2, 8 and 32 chips give over one, by the performance model
	$(BIN)/python tools/chips.py

perf-reference-training: $(VENV)/.test  ## compare training steps of ours with the reference compiler's: NETLISTS=folder of pybuda_pregenerated
	$(BIN)/python tools/reference_training.py $(NETLISTS)

perf-training: $(VENV)/.test  ## train three networks on a simulated device and on the host, and cost a step by the performance model
	$(BIN)/python tools/device_training.py

perf-published: $(VENV)/.test  ## compare the performance model with published throughput of whole models
	$(BIN)/python tools/published.py

perf-reference: $(VENV)/.test  ## compare our netlists with the reference compiler's: make perf-reference NETLISTS=folder of perf_lib
	$(BIN)/python tools/reference_netlists.py $(NETLISTS)

conformance-buda: $(VENV)/.test  ## write eight networks as Buda netlists, read them back, run them, compare
	$(BIN)/python tools/emission.py

docs: $(VENV)/.test  ## write the pages of docs/ that are made from the code
	$(BIN)/python tools/docs.py

site: $(VENV)/.docs  ## build the documentation as a site in build/site; it needs no network, nor does reading it
	$(BIN)/python tools/site_build.py

wheels: $(VENV)/.test  ## build the wheels ttc-runtime, which loads and runs archives, and ttc, which is the rest, in dist/
	$(BIN)/python tools/wheels.py

bench-passes: $(VENV)/.test  ## microseconds an op of every pass at 1,000, 4,000 and 10,000 ops
	$(BIN)/python tools/bench_passes.py

bench-growth: $(VENV)/.test  ## how compilation and running grow with chains, wide ops, and numbers of inputs and outputs
	$(BIN)/python tools/bench_growth.py

bench-tokens: $(VENV)/.peers  ## compare the generation of tokens with transformers, onnxruntime-genai and OpenVINO
	$(BIN)/python tools/bench_tokens.py

bench-training: $(VENV)/.test  ## compare training steps with eager PyTorch, its own compiler and JAX on twelve networks
	$(BIN)/python tools/bench_training.py

scaling: $(VENV)/.test  ## work out training steps in 8, 64 and 512 processes, and compare those of 2, 3 and 4 with measured ones
	$(BIN)/python tools/scaling.py --network 2e-5:1.2e10 --check

bench-peers: $(VENV)/.peers  ## compare speed, memory and load with onnxruntime, OpenVINO and PyTorch on eight networks
	$(BIN)/python tools/bench_peers.py

conformance-onnx: $(VENV)/.test  ## run ONNX's own backend tests and say why what does not pass does not
	$(BIN)/python tools/onnx_suite.py --bar 0.98 --device-bar 0.95

conformance-torch: $(VENV)/.test  ## run samples of PyTorch's own operator database
	$(BIN)/python tools/torch_suite.py --bar 0.85

conformance-gradients: $(VENV)/.test  ## compare gradients of samples of PyTorch's operator database with PyTorch's, on both engines
	$(BIN)/python tools/gradient_suite.py --bar 0.93
	$(BIN)/python tools/gradient_suite.py --engine native --bar 0.93

conformance-training: $(VENV)/.test  ## train thirteen small networks in every way, and compare gradients and weights with PyTorch's in float64
	$(BIN)/python tools/check_training.py
	$(BIN)/python tools/check_keras_training.py

conformance-export: $(VENV)/.peers  ## export 24 small networks for TT-NN, as ONNX and as StableHLO, run them, and compare with PyTorch
	$(BIN)/python -m pytest -q -n 2 tests/ttc/exporters/stablehlo
	$(BIN)/python tools/check_exports.py --jax

conformance-ttnn: $(VENV)/.test .venv-ttnn/.ttnn  ## run exported modules on mock devices of the real TT-NN (PYTHON_TTNN=: a Python 3.12 or 3.10); RECORD=1 renews the answers that tests read
	$(BIN)/python tools/check_ttnn.py --python .venv-ttnn/bin/python $(if $(RECORD),--record)
	$(BIN)/python tools/check_ttnn.py --python .venv-ttnn/bin/python --machines t3k,4xp150 --tensor

conformance-tf: $(VENV)/.test  ## compare keras.applications with TensorFlow as SavedModel, .keras and .tflite
	$(BIN)/python tools/tf_suite.py --bar 1

conformance-real: $(VENV)/.real  ## compare and time models that packages ship and converters make; write docs/real_models.md
	$(BIN)/python tools/real_models.py --bar 0.95 --worst 1.5 --mean 0.75 --write docs/real_models.md

onnx-misses: $(VENV)/.test  ## renew the list of ONNX's cases that do not pass
	$(BIN)/python tools/onnx_misses.py

contract: $(VENV)/.test  ## compare COUNT (500) random ways to divide the rows of updates, all losses and optimizers, with plain loops
	CONTRACT_EXAMPLES=$(or $(COUNT),500) $(BIN)/python -m pytest -n 0 --timeout 0 tests/ttc/train/test_contract.py tests/ttc/train/test_plain_training.py

fuzz: $(VENV)/.test  ## damage small files of every format, COUNT of each (1000), and see that each ends in success or one error
	$(BIN)/python tools/fuzz.py --count $(or $(COUNT),1000) --seconds 100000 --findings fuzz-findings

check-agreement: $(VENV)/.test  ## see that ttc check and ttc compile agree on random models, COUNT of them (200)
	$(BIN)/python tools/check_agreement.py --count $(or $(COUNT),200)

check-kills: $(VENV)/.test  ## kill ttc train at COUNT random moments (20), let it go on, and compare all bits with a run that was not killed
	$(BIN)/python tools/check_kills.py --count $(or $(COUNT),20)

check-planted: $(VENV)/.test  ## plant each gradient rule wrong in turn, and see that ttc bisect and ttc run --engine both find it
	PLANTED=all $(BIN)/python -m pytest -q -n 0 tests/ttc/cli/test_gradients.py tests/ttc/debug/test_bisect_gradients.py

check-starts: $(VENV)/.test  ## start and shut down pipelines of threads and of processes COUNT (200) times each, and see that nothing is left
	STARTS=$(or $(COUNT),200) $(BIN)/python -m pytest -q -n 0 --timeout 0 tests/ttc/pipeline/test_failures.py -k many_starts

check-generation: $(VENV)/.test  ## compare generated tokens with those of transformers, for seven kinds of models on host and device
	$(BIN)/python tools/check_generation.py

clean:  ## delete the environments and everything built
	rm -rf .venv .venv-* build dist demo *.egg-info

# Stamp files: set-up is done once, and again when the dependencies change.
$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ttc needs Python 3.11 or newer, not " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[demo]'
	touch $@

# TT-NN has wheels for two Pythons, and asks for another numpy than ttc: it gets an environment of its own.
.venv-ttnn/.ttnn:
	@[ -n "$(PYTHON_TTNN)" ] || { echo "error: TT-NN has wheels for Python 3.12 and 3.10 alone, and neither is there: name one by PYTHON_TTNN="; exit 2; }
	$(PYTHON_TTNN) -m venv .venv-ttnn
	.venv-ttnn/bin/python -m pip install --quiet 'ttnn>=0.81,<0.82'
	touch $@

$(VENV)/.peers: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[peers]'
	touch $@

$(VENV)/.real: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[real]'
	touch $@

$(VENV)/.view: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[view-test]'
	touch $@

$(VENV)/.docs: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@

$(VENV)/.test: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@
