# Tests.  Each one is run by tools/check/run.sh, which keeps its log and its counts in $(BUILD)/check;
# tools/check/sum.sh adds them up.

.PHONY: nesting ranks check check-long check-python check-jax coverage results asan clang tsan valgrind laws mutants faults fuzz abi abi-record abi-release costs costs-record fuzz-programs tsan-programs

# The goals that need the packages of set `check` (tools/deps/packages.txt).
CHECK_GOALS = nesting ranks check check-long coverage results asan clang tsan valgrind laws mutants faults fuzz fuzz-programs tsan-programs

# How much of the random tests is run, the same of it each time but for what goes by turns: in make check, in builds of other
# kinds (few), and in make check-long (many).  Samples per law and primitive, generated programs, samples where others
# run loops, programs of many ranks, allocations that fail (tests/fault); and, one in so many: derivatives of loops in
# loops (tests/nesting; every schedule and policy has some), programs of tests/emit that are compiled (all are written)
# and of those the first of each primitive, primitives of which rules are broken.
CHECK_N        ?= 4
CHECK_PROGRAMS ?= 40
CHECK_NESTS    ?= 1
CHECK_RANKS    ?= 60
# Of these, too, until one notices a mutant: fewer do not meet all that programs say to each other.
RANKS_MUTANTS  ?= 60
CHECK_FAULT    ?= 20000
NESTING_SHARE  ?= 21
EMIT_SHARE     ?= 240
EMIT_FIRSTS    ?= 6
MUTANTS_SHARE  ?= 256
few  = CHECK_N=2 CHECK_PROGRAMS=3 CHECK_NESTS=1 CHECK_RANKS=20 CHECK_FAULT=3000 NESTING_SHARE=21 EMIT_SHARE=200 EMIT_FIRSTS=100
many = CHECK_N=100 CHECK_PROGRAMS=1200 CHECK_NESTS=20 CHECK_RANKS=400 CHECK_FAULT=1200000 NESTING_SHARE=1 EMIT_SHARE=1 EMIT_FIRSTS=1 \
       MUTANTS_SHARE=6 CHECK_FUZZ_pipeline=120
SEED          ?= 1
# Other mutants, and other programs that are compiled, each time; the log says how to have them again.
TURN          ?= $(shell date +%s)
export TURN   := $(TURN)
share = laws: $(CHECK_N) samples a primitive, $(CHECK_PROGRAMS) programs; ranks: $(CHECK_RANKS); faults: $(CHECK_FAULT); \
        one in so many: nesting $(NESTING_SHARE), emit $(EMIT_SHARE) (of the first of each primitive $(EMIT_FIRSTS)), mutants $(MUTANTS_SHARE); seed $(SEED), turn $(TURN)$(if \
        $(PART),; part $(PART) of laws emit $(PARTED))
# Seconds: the longest a test may take, each fuzz target in make check, each in make fuzz.
CHECK_LIMIT ?= 1200
CHECK_FUZZ  ?= 4
CHECK_FUZZ_pipeline ?= 8
FUZZ_TIME   ?= 300

# What make check runs, longest first, so that no processor waits for the last.  Builds of other kinds leave out what
# needs an ordinary one, and but for check-long the demo, of which products at -O0 are all the time; doors are in all,
# where their packages are.  LEAVE_OUT=threads: all but that.
LEAVE_OUT   ?=
KINDS       ?= $(filter-out $(LEAVE_OUT),emit laws fuzz mutants nesting threads projects golden ranks fault unit demo install headers abi costs cpp examples doors bench valgrind)
SHORT_KINDS  = emit laws doors nesting golden ranks fault unit $(if $(LONG),demo) cpp examples

# ---- programs --------------------------------------------------------------

UNITS    := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))
FUZZERS  := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
SCRIPTS  := $(wildcard tests/*/run.sh tests/golden/run)
# Folders of which all the files make one program, $(BUILD)/NAME.  Mutants run the laws on a broken registry,
# emit writes their programs as C.
FOLDERS      := laws fault golden threads mutants nesting emit ranks
SRC_mutants  := $(filter-out %/main.c,$(call find_c,tests/laws))
SRC_emit     := $(SRC_mutants)
$(foreach d,$(FOLDERS),$(eval C_$(d) := $(call find_c,tests/$(d))))

# What several of them use: the files in tests itself.
TESTS_A = $(BUILD)/libtests.a
$(TESTS_A): $(call objects,$(wildcard tests/*.c))
	@rm -f $@
	$(Q)ar rcs $@ $^

# A hundred programs with all of the library inside: without what a debugger needs, a quarter of the size.  DEBUG=1 keeps it.
no_debug = $(if $(DEBUG)$(SAN),,-Wl$(comma)-S)

define folder_program
$(BUILD)/$(1): $$(call objects,$$(C_$(1)) $$(SRC_$(1))) $$(TESTS_A) $$(LIB)
	$$(call say,LINK)
	$$(link)
endef
$(foreach d,$(FOLDERS),$(eval $(call folder_program,$(d))))
$(FOLDERS:%=$(BUILD)/%): LINK_MORE = $(no_debug)

$(UNITS:%=$(BUILD)/unit/%): LINK_MORE = -lcmocka $(no_debug)
$(UNITS:%=$(BUILD)/unit/%) $(FUZZERS:%=$(BUILD)/fuzz/%): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(TESTS_A) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)

# What LAPACK=0 refuses, in such a program: one file of it differs.
WITHOUT_LAPACK = $(if $(SAN),,eigen)
$(BUILD)/obj/no_lapack.o: src/run/lapack.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(call own_flags,$<) -UTN_LAPACK -c -o $@ $<
$(WITHOUT_LAPACK:%=$(BUILD)/unit/%-no-lapack): $(BUILD)/unit/%-no-lapack: $(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/no_lapack.o $(TESTS_A) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
$(WITHOUT_LAPACK:%=$(BUILD)/unit/%-no-lapack): LINK_MORE = -lcmocka $(no_debug)

# C++ sees the same headers: examples/*.cpp and tests/cpp/*.cpp, by the build's own compiler: make check and make asan see
# two.  NAME_no_exceptions.cpp is compiled without exceptions, NAME_20.cpp as C++20.
CXX_OWN  := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(lastword $(CC))),g++)
CPPS     := $(basename $(notdir $(wildcard examples/*.cpp tests/cpp/*.cpp)))
cxx_flags = -std=c++$(if $(filter %_20.cpp,$(1)),20,17) $(if $(filter %_no_exceptions.cpp,$(1)),-fno-exceptions) \
            -O1 -g1 -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude $(EIGEN:%=-isystem %) $(SAN_FLAGS)
EIGEN     = $(wildcard /usr/include/eigen3)
define cxx_program
	@mkdir -p $(@D)
	$(call say,C++)
	$(Q)$(1) $(call cxx_flags,$<) -o $@ $< $(LIB) $(SHARED_LIB) $(no_debug) $(LIBS)
endef
define cxx_programs
$(BUILD)/cpp/%-$(1): examples/%.cpp $(LIB) $(HEADERS) $(SUBHEADERS) $(BUILD)/flags
	$$(call cxx_program,$(1))
$(BUILD)/cpp/%-$(1): tests/cpp/%.cpp $(wildcard tests/cpp/*.hpp) $(LIB) $(HEADERS) $(SUBHEADERS) $(BUILD)/flags
	$$(call cxx_program,$(1))
endef
$(eval $(call cxx_programs,$(CXX_OWN)))

# Builds with other flags have directories of their own.
SAN_DIR  = $(BUILD)/asan
TSAN_DIR = $(BUILD)/san-thread
sub_make = +@$(MAKE) --no-print-directory DEPS_SEEN=1

# The one that is sanitized has the second compiler, whose warnings are errors, and fuzz targets besides its suite.  They
# are led by the edges that were taken: calls at every comparison, and frames of functions on the heap (in check-long),
# are two thirds of the suite's time.  So are two thirds of what is compiled the checks of each access to memory that
# AddressSanitizer would catch, or that x86 allows, and of the arithmetic of each address; those in check-long as well.
# In functions with many accesses AddressSanitizer's own checks are calls: a third less to compile.
sanitized = BUILD=$(SAN_DIR) CC='$(CLANG)' SAN=fuzzer-no-link,address,undefined DEBUG=1 WERROR=1 \
            CFLAGS='-O1 -g1 -fno-sanitize-coverage=trace-cmp,indirect-calls $(if $(LONG),,-fno-sanitize=null,alignment,object-size,pointer-overflow -mllvm -asan-instrumentation-with-call-threshold=30)'

$(FUZZERS:%=$(BUILD)/fuzz/%): LINK_MORE = -fsanitize=fuzzer
fuzz-programs: | deps
	$(sub_make) $(sanitized) $(FUZZERS:%=$(SAN_DIR)/fuzz/%)
# Every program of the tests: the goldens without what is expected of them, and a few cases of each primitive.
SEEDS = $(SAN_DIR)/seeds
$(SEEDS): $(BUILD)/laws $(wildcard tests/golden/*/*.tn examples/*.tn)
	@rm -rf $@; mkdir -p $@
	$(Q)$< $(if $(LONG),--n 2 --programs 200,--n 1 --programs 60) --write $@ >/dev/null
	$(Q)for f in $(filter %.tn,$^); do sed '/^#/d' $$f >$@/$$(echo $$f | tr / _); done
	$(Q)rm -rf $@-few; mkdir -p $@-few; for f in $$(ls $@ | awk -v turn=$(TURN) '(NR + turn) % 36 == 1'); do ln $@/$$f $@-few/$$f; done
# What compiles and runs each of them has one in 36 of them, and of its corpus one in 5: libFuzzer runs all of them
# first, however long that takes.
SEEDS_pipeline = $(SEEDS)$(if $(LONG),,-few)
SHARE_pipeline = 5
# Three programs, for which the library is compiled once more: at -O0 in half of the time.
tsan-programs: | deps
	$(sub_make) BUILD=$(TSAN_DIR) CC=gcc SAN=thread CFLAGS='$(if $(LONG),-O1,-O0) -g1' DEBUG= $(TSAN_DIR)/threads \
	    $(TSAN_DIR)/unit/nest_threads $(TSAN_DIR)/unit/comm_threads

$(BUILD)/locale/de_DE.UTF-8: | deps
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $@ || { rm -rf $@; mkdir $@; }

# ---- make check ------------------------------------------------------------

# turn,N,LIST: of what is long to compile one in N, others with another TURN; all of it in check-long.
turn = $(if $(LONG),$(2),$(shell printf '%s\n' $(2) | awk '(NR + $(TURN)) % $(1) == 0'))

# The tests of each kind, by name; a kind that has none yet is reported as skipped.
TESTS_laws     = $(if $(C_laws),laws laws-nests)
TESTS_fuzz     = $(FUZZERS:%=fuzz-%)
TESTS_threads  = $(if $(C_threads),threads threads-nests threads-ranks)
TESTS_golden   = $(if $(C_golden),golden) $(patsubst tests/%,script-%,$(filter-out tests/browser/run.sh,$(SCRIPTS)) $(call turn,8,$(filter tests/browser/run.sh,$(SCRIPTS))))
TESTS_mutants  = $(if $(C_mutants),mutants)
TESTS_ranks    = $(if $(C_ranks),ranks ranks-mutants)
TESTS_nesting  = $(if $(C_nesting),nesting)
TESTS_emit     = $(if $(C_emit),emit)
TESTS_fault    = $(if $(C_fault),fault)
TESTS_demo     = $(if $(DEMO_SRC),demo)
TESTS_unit     = $(UNITS:%=unit-%) $(WITHOUT_LAPACK:%=unit-%-no-lapack)
TESTS_install  = $(if $(QUICKSTART),install)
TESTS_projects = projects
TESTS_headers  = headers
TESTS_abi      = $(if $(wildcard tests/abi.txt),abi)
TESTS_costs    = $(if $(wildcard tests/costs.csv),costs)
TESTS_cpp      = $(call turn,2,$(CPPS:%=cpp-%-$(CXX_OWN)))
TESTS_examples = $(patsubst $(BUILD)/examples/%,example-%,$(EXAMPLES)) \
                 $(SHOWS_ranked:%=example-threads-%) $(if $(found_mpi),$(SHOWS_ranked:%=example-mpi-%))
BENCH_SHORT    = stencil ode_adjoint sparse
TESTS_bench    = $(if $(wildcard bench/suite/*.c),bench) $(if $(wildcard bench/general/*.c),general) $(BENCH_SHORT:%=bench-%)
TESTS_valgrind = $(if $(QUICKSTART),valgrind) $(if $(filter handles,$(CPPS)),valgrind-cpp)
QUICKSTART     = $(filter %/quickstart,$(EXAMPLES))

# PART=2/8: of the tests of these kinds the second, tenth .. alone, all kinds in one row; of the laws and of
# what is written as C those of the second, tenth .. primitive.
PART      ?=
PARTED     = nesting ranks fault golden demo examples cpp doors unit
part       = $(if $(PART),$(shell printf '%s\n' $(1) | awk -v part='$(PART)' '{ split(part, p, "/") } NR % p[2] == p[1] % p[2]'),$(1))
TESTS = $(foreach k,$(filter-out $(PARTED),$(KINDS)),$(TESTS_$(k))) \
        $(call part,$(foreach k,$(filter $(PARTED),$(KINDS)),$(TESTS_$(k))))
NONE  = $(foreach k,$(KINDS),$(if $(strip $(TESTS_$(k))),,$(k)))

R = $(BUILD)/check
RESULTS = $(TESTS:%=$(R)/%.res)
RUN = $(if $(BUILD_ONLY),@:,@$(run_one))
run_one = $(if $(LONG),TN_TESTS_LONG=1 )SAN='$(SAN)' CC='$(CC)' CLANG='$(CLANG)' BUILD='$(BUILD)' tools/check/run.sh $@ $(CHECK_LIMIT)

$(R)/laws.res: $(BUILD)/laws FORCE
	$(RUN) $< --n $(CHECK_N) --programs $(CHECK_PROGRAMS) --seed $(SEED) $(if $(PART),--part $(PART))
# Whoever runs loops, the bits are those of the reference.
OTHERS = "--backend strips" "--nests lowered" "--nests passed" "--nests backwards"
$(R)/laws-nests.res: $(BUILD)/laws FORCE
	$(RUN) sh -c 'for w in $(OTHERS); do "$$0" --only compiled --n $(CHECK_NESTS) --programs $(CHECK_NESTS) $(if $(PART),--part $(PART)) $$w || exit 1; done' $<
$(R)/mutants.res: $(BUILD)/mutants FORCE
	$(RUN) $< --share $(MUTANTS_SHARE) --seed $(TURN)
$(R)/golden.res: $(BUILD)/golden FORCE
	$(RUN) $<
$(R)/emit.res: $(BUILD)/emit FORCE
	$(RUN) $< --share $(EMIT_SHARE) --firsts $(EMIT_FIRSTS) --turn $(TURN) $(if $(PART),--part $(PART))
$(R)/fault.res: $(BUILD)/fault FORCE
	$(RUN) $< --work $(CHECK_FAULT)
$(R)/ranks.res: $(BUILD)/ranks FORCE
	$(RUN) $< --n $(CHECK_RANKS) --seed $(SEED)
$(R)/ranks-mutants.res: $(BUILD)/ranks FORCE
	$(RUN) $< --mutants 1 --n $(RANKS_MUTANTS) --seed $(SEED) --orders 1
$(R)/nesting.res: $(BUILD)/nesting FORCE
	$(RUN) $< --count --share $(NESTING_SHARE)
$(R)/demo.res: $(BUILD)/demo FORCE
	$(RUN) $<
$(UNITS:%=$(R)/unit-%.res) $(WITHOUT_LAPACK:%=$(R)/unit-%-no-lapack.res): $(R)/unit-%.res: $(BUILD)/unit/% $(BUILD)/locale/de_DE.UTF-8 FORCE
	$(RUN) $<
$(SCRIPTS:tests/%=$(R)/script-%.res): $(R)/script-%.res: tests/% $(TOOL) $(LIB_SO) $(BUILD)/locale/de_DE.UTF-8 FORCE
	$(RUN) $<
$(R)/fuzz-%.res: fuzz-programs $(SEEDS) FORCE
	$(RUN) env SHARE=$(if $(LONG),,$(SHARE_$*)) tools/check/fuzz.sh $(SAN_DIR)/fuzz/$* $(or $(CHECK_FUZZ_$*),$(CHECK_FUZZ)) $(or $(SEEDS_$*),$(SEEDS))
$(R)/threads.res: tsan-programs FORCE
	$(RUN) env SAN=thread tools/check/sanitized.sh $(TSAN_DIR)/threads
$(R)/threads-nests.res: tsan-programs FORCE
	$(RUN) env SAN=thread tools/check/sanitized.sh $(TSAN_DIR)/unit/nest_threads
$(R)/threads-ranks.res: tsan-programs FORCE
	$(RUN) env SAN=thread tools/check/sanitized.sh $(TSAN_DIR)/unit/comm_threads
$(R)/install.res $(R)/headers.res: $(R)/%.res: tests/%.sh all FORCE
	$(RUN) $<
$(R)/projects.res: tests/projects.sh all FORCE | doors
	$(RUN) env PROJECTS=$(if $(LONG),all) $<
$(R)/abi.res: all FORCE
	$(RUN) tools/abi/abi.sh --diff tests/abi.txt
$(R)/costs.res: $(TOOL) FORCE
	$(RUN) tests/costs/costs.sh --diff
$(R)/cpp-%.res: $(BUILD)/cpp/% FORCE
	$(RUN) $<
$(R)/example-%.res: $(BUILD)/examples/% FORCE
	$(RUN) $< $(SHORT_$*)
$(foreach e,lotka_volterra neural_ode,$(eval SHORT_$(e) = --short $(BUILD)/$(e)-short.svg))
SHORT_xor_structs = $(BUILD)/xor_structs.npz
# Examples of many ranks, on 1 to 4 of them.
SHOWS_ranked = heat2d heat2d-check train
on_threads   = sh -c 'for n in $(or $(few_ranks),1 2 3 4); do "$$0" --threads $$n "$$@" || exit 1; done'
define ranked_results
$(R)/example-threads-$(1).res $(R)/example-mpi-$(1).res: $(BUILD)/examples/mpi/$(firstword $(subst -, ,$(1))) FORCE
$(R)/example-threads-$(1).res:
	$$(RUN) $$(on_threads) $$< $(2)
$(R)/example-mpi-$(1).res: export TN_MPI_NP = $$(few_ranks)
$(R)/example-mpi-$(1).res:
	$$(RUN) $$(run_mpi) $$< $(2)
endef
# Under the sanitizers one number of ranks is enough, the least that has one between two others.
few_ranks = $(if $(SAN),$(if $(LONG),,3))
$(eval $(call ranked_results,heat2d,--short $(BUILD)/heat2d-short.svg))
$(eval $(call ranked_results,heat2d-check,--check))
$(eval $(call ranked_results,train,))
$(R)/bench.res: $(SUITE) FORCE
	$(RUN) $< --data bench/data --quick
$(R)/general.res: $(GENERAL) FORCE
	$(RUN) $< --check $(if $(LONG),,$(TURN))
# Those that compare what they measure, as short as they go.
$(R)/bench-%.res: $(BUILD)/bench/% FORCE
	$(RUN) $< $(BENCH_ARGS_$*)
BENCH_ARGS_stencil     = 20
BENCH_ARGS_ode_adjoint = 2 1
BENCH_ARGS_sparse      = pattern_bratu
$(R)/valgrind.res: $(BUILD)/examples/quickstart FORCE
	$(RUN) $(VALGRIND) $<
$(R)/valgrind-cpp.res: $(BUILD)/cpp/handles-$(CXX_OWN) FORCE
	$(RUN) $(VALGRIND) $<
VALGRIND = valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect

results: $(RESULTS)
# All programs before the first test: make would come back to a test that waits for its program after all the others.
all_results = @$(MAKE) -k -Otarget --no-print-directory DEPS_SEEN=1 results
check: | deps ## build and run every test; KINDS= picks some
	@$(foreach k,$(NONE),echo '  skip  $(k): no files yet';)
	@rm -rf $(R); mkdir -p $(R); printf '%s\n' $(TESTS) >$(R)/expected; echo '$(strip $(share))' >$(R)/share
	+$(all_results) BUILD_ONLY=1 || :
	+$(all_results) || :
	@tools/check/sum.sh $(R)

# The suite once more, in short form, in builds of other kinds.
asan: | deps ## the suite built by clang under AddressSanitizer and UBSan, warnings as errors
	$(sub_make) $(sanitized) $(few) KINDS='$(SHORT_KINDS)' check
clang: | deps ## the suite built by clang, optimized
	$(sub_make) BUILD=$(BUILD)/clang CC='$(CLANG)' WERROR=1 CFLAGS=-O3 $(few) KINDS='$(SHORT_KINDS)' check
# Fuzzers, other languages and installed copies find little that these do not run.
COVERAGE_KINDS ?= emit laws nesting threads golden ranks fault unit demo examples
GCOV           ?= gcov
coverage: | deps ## lines and branches of src that the suite runs, by folder (gcov); COVERAGE_KINDS= picks tests
	$(sub_make) BUILD=$(BUILD)/coverage CFLAGS='-O1 -g1 --coverage' LDFLAGS=--coverage KINDS='$(COVERAGE_KINDS)' check || :
	@GCOV='$(GCOV)' tools/check/coverage.sh $(BUILD)/coverage/obj
check-long: | deps ## check with more of the random tests, asan and clang
	$(sub_make) $(many) LONG=1 check || :
	+@ASAN_OPTIONS=detect_stack_use_after_return=1 $(MAKE) --no-print-directory DEPS_SEEN=1 LONG=1 asan || :
	$(sub_make) clang || :
	@tools/check/sum.sh $(R) $(SAN_DIR)/check $(BUILD)/clang/check

tsan: $(if $(C_threads),tsan-programs) ## one exec on several threads, under ThreadSanitizer
	$(if $(C_threads),@for t in threads unit/nest_threads unit/comm_threads; do SAN=thread tools/check/sanitized.sh $(TSAN_DIR)/$$t || exit 1; done,$(call skip,tests/threads/*.c))
valgrind: $(QUICKSTART) ## the quickstart under valgrind
	$(if $(QUICKSTART),$(VALGRIND) $<,$(call skip,examples/quickstart.c))

check-jax: $(LIB_A) ## 253 programs of JAX and its libraries, exported and compared with JAX (pip); JAX=, PYTHON=
	@DEPS='$(DEPS)' tools/deps/install.sh python || :
	@BUILD='$(BUILD)' CC='$(CC)' python/tests/run.sh libraries
check-python: $(LIB_A) $(TOOL) ## the Python package, in an environment of its own: JAX=jax==VERSION, PYTHON=
	@DEPS='$(DEPS)' tools/deps/install.sh python || :
	@BUILD='$(BUILD)' CC='$(CC)' python/tests/run.sh

# ---- one kind at a time, as long as asked ----------------------------------

laws: $(if $(C_laws),$(BUILD)/laws $(BUILD)/unit/min_cut $(BUILD)/unit/budget) ## the laws, N= samples each, SEED=, more in ARGS=
	$(if $(C_laws),$< --n $(or $(N),$(CHECK_N)) --seed $(SEED) $(ARGS),$(call skip,tests/laws/*.c))
	@# Without ARGS: plans against brute force over all save sets, on 10^4 random programs each.
	$(if $(ARGS),,$(BUILD)/unit/min_cut && TN_BUDGET_PROGRAMS=10000 $(BUILD)/unit/budget)
mutants: $(if $(C_mutants),$(BUILD)/mutants) ## break one rule at a time, all of them; the laws must notice (make check: a share)
	$(if $(C_mutants),$< $(ARGS),$(call skip,tests/mutants/*.c))
faults: $(if $(C_fault),$(BUILD)/fault) ## fail every allocation in turn (make check: a part of them where there are many)
	$(if $(C_fault),$< --work 0 $(ARGS),$(call skip,tests/fault/*.c))
ranks: $(if $(C_ranks),$(BUILD)/ranks) ## random programs of many ranks: N= of them, SEED=
	$(if $(C_ranks),$< --n $(or $(N),$(CHECK_RANKS)) --seed $(SEED) $(ARGS),$(call skip,tests/ranks/*.c))
nesting: $(if $(C_nesting),$(BUILD)/nesting) ## every schedule under every nesting of derivatives, as a table
	$(if $(C_nesting),@$<,$(call skip,tests/nesting/*.c))
fuzz: $(if $(FUZZERS),fuzz-programs $(SEEDS)) ## every fuzz target for FUZZ_TIME= seconds
	$(if $(FUZZERS),@set -e; for f in $(FUZZERS); do tools/check/fuzz.sh $(SAN_DIR)/fuzz/$$f $(FUZZ_TIME) $(SEEDS); done,\
	    $(call skip,tests/fuzz/*.c))
abi: all ## compare symbols and struct sizes with tests/abi.txt
	@BUILD='$(BUILD)' CC='$(CC)' tools/abi/abi.sh --diff tests/abi.txt
abi-record: all ## write them to tests/abi.txt, and symbols to debian/libtansy0.symbols
	@BUILD='$(BUILD)' CC='$(CC)' tools/abi/abi.sh >$(BUILD)/abi.txt && cp $(BUILD)/abi.txt tests/abi.txt
	@tools/abi/symbols.sh >$(BUILD)/symbols && cp $(BUILD)/symbols debian/libtansy0.symbols
abi-release: ## when a version is released: keep its interface as tests/abi_last.txt
	@cp tests/abi.txt tests/abi_last.txt
costs: $(TOOL) ## compare what derivatives keep and recompute with tests/costs.csv
	@TANSY='$(abspath $(TOOL))' tests/costs/costs.sh --diff
costs-record: $(TOOL) ## write it to tests/costs.csv
	@TANSY='$(abspath $(TOOL))' tests/costs/costs.sh >$(BUILD)/costs.csv && cp $(BUILD)/costs.csv tests/costs.csv
