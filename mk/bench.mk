# Measurements.  `make bench` puts Tansy beside the C of bench/c/, `make bench-peers` beside other systems; each
# bench/NAME.c answers a question of its own (`make bench-NAME`).  BENCHMARKS.md has the answers.
#
#   ONLY=     workloads, as chain,gmm (all)            QUICK=1   compare results, measure nothing
#   CPU=      the processor to be on (the first)       REFERENCE=1  measure the reference backend as well
#   BENCH_CC= the compiler of bench/c/ (gcc)

.PHONY: bench bench-all bench-quick bench-peers calibrate

BENCH_CC ?= gcc
SUITE     = $(BUILD)/bench/suite
BY_HAND  := $(wildcard bench/c/*.c)
HARNESS  := bench/harness.c
BENCHES  := $(patsubst bench/%.c,$(BUILD)/bench/%,$(filter-out $(HARNESS),$(wildcard bench/*.c)))

# By hand: gcc's own contraction, the machine's own vectors.
BY_HAND_CFLAGS = -std=gnu11 -O3 -march=native $(if $(filter x86_64,$(shell uname -m)),-mprefer-vector-width=512) \
                 -fno-math-errno $(filter-out -Wpedantic,$(WARN_FLAGS)) -D_POSIX_C_SOURCE=200809L
$(call objects,$(BY_HAND)): $(BUILD)/obj/%.o: %.c $(BUILD)/flags | deps
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(BENCH_CC) $(BY_HAND_CFLAGS) $(if $(filter %/products.c,$<),$(call blis,--cflags)) -MMD -MP -c -o $@ $<

$(SUITE): $(call objects,$(BY_HAND) $(HARNESS) $(wildcard bench/suite/*.c)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)

# What this version of the library has.
has       = $(if $(shell grep -s '$(1)' include/tansy.h include/tansy/exec.h),$(2))
BENCH_HAS = $(call has,TN_BACKEND_REFERENCE,-DBENCH_BACKENDS) $(call has,tn_exec_backend,-DBENCH_NATIVE) \
            $(call has,tn_blis_select,-DBENCH_BLIS_SELECT)

suite_args = --data bench/data $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick) $(if $(CPU),--cpu $(CPU)) \
             $(if $(REFERENCE),--reference)
bench: $(SUITE) ## Tansy beside hand-written C: JSON lines and a table; ONLY= QUICK=1 CPU=
	@$(SUITE) $(suite_args)

calibrate: $(BUILD)/bench/calibrate ## measure this machine and write its numbers into the machine table
	@bench/calibrate.sh $<

bench-quick: $(SUITE) ## the same programs, compared and not measured
	@$(SUITE) --data bench/data --quick

bench-all: bench $(BENCHES) ## bench, and every bench/*.c
	@set -e; for b in $(BENCHES); do $$b; done

# The table `general`: its C is what gcc makes of plain loops when it may do what it likes.
GENERAL = $(BUILD)/bench/general-table
$(call objects,bench/general/by_hand.c): $(BUILD)/obj/%.o: %.c $(BUILD)/flags $(wildcard bench/general/*.inc) | deps
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(BENCH_CC) -std=gnu11 -O3 -march=native -ffast-math -fopenmp-simd -MMD -MP -c -o $@ $<
$(GENERAL): $(call objects,$(wildcard bench/general/*.c)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
bench-general: $(GENERAL) ## programs that no table was made for, beside plain C: JSON lines
	@$(GENERAL) $(ONLY)
.PHONY: bench-general

# The environment is that of make check-python.
bench-jax: ## 116 programs, and 60 steps of small loops, by tansy.from_jax beside JAX (behind make check-python); ONLY= CPU=
	@[ -x $(BUILD)/python/venv/bin/python ] || { echo 'bench-jax: make check-python comes first'; exit 1; }
	@set -e; export PEERS_CPU='$(CPU)'; for f in 'from_jax.py --more' jax_steps.py; do \
	    $(BUILD)/python/venv/bin/python bench/peers/$$f $(subst $(comma), ,$(ONLY)); done
.PHONY: bench-jax

# Beside C by hand.
$(BUILD)/bench/sparse: $(call objects,bench/c/bratu.c bench/c/bundle.c)

bench-sparse: ## sparse Jacobians and Hessians beside C by hand: JSON lines
bench-compile: ## what making a program costs, by its size
bench-policies: ## bytes and time of three programs under each checkpoint policy
$(BENCHES:$(BUILD)/bench/%=bench-%): bench-%: $(BUILD)/bench/%
	@$<
.PHONY: $(BENCHES:$(BUILD)/bench/%=bench-%)

# ---- other systems -----------------------------------------------------------
# JAX, Diffrax and CasADi in a Python environment of their own, Burn by cargo, PyTorch where the system's Python has it;
# nothing of them is needed otherwise, and what cannot be had is passed over.  LONG=1: solves of 80,000 steps.

PEERS         = $(BUILD)/peers
TORCH_PYTHON ?= /usr/bin/python3
BURN          = $(BUILD)/burn/release/with-burn

$(PEERS)/ready: bench/peers/requirements.txt
	@mkdir -p $(@D)
	@python3 -m venv $(PEERS) || echo '  skip  JAX, Diffrax, CasADi: no python3 -m venv'
	@while read -r p; do $(PEERS)/bin/pip install -q "$$p" || echo "  skip  $$p: cannot be installed"; done <$<
	@touch $@
$(BURN): $(wildcard bench/peers/burn/src/*.rs bench/peers/burn/Cargo.toml)
	@CARGO_TARGET_DIR='$(abspath $(BUILD)/burn)' cargo build -q --release --manifest-path bench/peers/burn/Cargo.toml || \
	    echo '  skip  Burn: cannot be built'

bench-peers: $(SUITE) $(BUILD)/bench/ode_adjoint $(PEERS)/ready ## the same beside JAX, Diffrax, CasADi, PyTorch, Burn
	-@$(MAKE) --no-print-directory $(BURN)
	@PEERS_CPU='$(CPU)' python3 bench/peers/run.py --suite $(SUITE) --ode $(BUILD)/bench/ode_adjoint --data bench/data \
	    --python $(PEERS)/bin/python --torch-python $(TORCH_PYTHON) --burn $(BURN) \
	    $(if $(ONLY),--only $(ONLY)) $(if $(LONG),--long)
	@if [ -x $(BUILD)/python/venv/bin/python ]; then for f in from_jax convolutions; do \
	     PEERS_CPU='$(CPU)' $(BUILD)/python/venv/bin/python bench/peers/$$f.py; done; \
	 else echo '  skip  programs by tansy.from_jax: make check-python makes the environment'; fi
