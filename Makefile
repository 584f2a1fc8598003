# Tansy: `make help` lists the targets.
#
#   CC=       the C compiler (gcc)                    BUILD=    where everything made goes (build)
#   CFLAGS=   replaces -O3 -g                         DEBUG=1   checks after every pass (TN_DEBUG), -O1
#   WERROR=1  warnings are errors                     SAN=      sanitizers: address,undefined or thread
#   BLIS_DIR= the prefix of a BLIS of your own        LAPACK=0  no LAPACKE: eigh, svd, qr .. are refused
#   SLEEF=1   link SLEEF, for TN_MATH_ACCURATE and    OPENMP=   no threads but those of products
#             large arguments of sin and cos
#   DEPS=no   never install packages                  JOBS=     parallel jobs (all processors)
#   MPICC=    the compiler of your MPI (mpicc)        MPIRUN=   what starts its programs (mpirun)
#   V=1       print the commands
#
# A new file in src/, tests/*/, examples/ or bench/ is picked up by itself.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all help deps man docs deb wheel install uninstall demo quickstart examples example-heat format format-check clean FORCE

ifeq ($(origin CC),default)
CC = gcc
endif
CLANG ?= clang-16
BUILD ?= build
OPT    = $(if $(DEBUG),-O1,-O3)
CFLAGS ?= $(OPT) -g

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/tansy
PCDIR      ?= $(LIBDIR)/pkgconfig
CMAKEDIR   ?= $(LIBDIR)/cmake/tansy
VERSION     = $(shell sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)

JOBS ?= $(shell nproc 2>/dev/null || echo 1)
ifeq ($(MAKELEVEL),0) # -j on the command line still wins
MAKEFLAGS += -j$(JOBS)
endif

# ---- sources ---------------------------------------------------------------

find_c    = $(shell [ ! -d $(1) ] || find $(1) -name '[!.]*.c' | LC_ALL=C sort)
objects   = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

CLI_SRC  := $(wildcard src/cli/*.c)
LIB_SRC  := $(filter-out src/cli/%,$(call find_c,src))
HEADERS  := $(wildcard include/*.h include/*.hpp)
SUBHEADERS := $(wildcard include/tansy/*.h)
DEMO_SRC := $(call find_c,examples/demo)
# Those of doors are built with them (mk/doors.mk).
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(filter-out $(wildcard examples/*_ipopt.c examples/*_sundials.c examples/*_nlopt.c examples/*_lbfgs.c examples/*_levmar.c examples/*_mpi.c),$(wildcard examples/*.c)))

LIB_A  = $(BUILD)/libtansy.a
LIB_SO = $(BUILD)/libtansy.so.0
LIB    = $(if $(SAN),$(LIB_SO),$(LIB_A))
TOOL   = $(BUILD)/tansy

all: $(LIB_A) $(LIB_SO) $(BUILD)/libtansy.so $(if $(CLI_SRC),$(TOOL)) ## the libraries and the tool

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/    make \1|\2/p' Makefile mk/*.mk | awk -F'|' '{ printf "%-30s %s\n", $$1, $$2 }'

# ---- what must be there before anything is compiled ------------------------

# The goals that need more packages than building does are listed in CHECK_GOALS (mk/check.mk).
DEPS_SETS = build $(if $(lapack),lapack) $(if $(filter $(CHECK_GOALS),$(MAKECMDGOALS)),check)
no_check_goal = $(if $(filter check check-long doors,$(MAKECMDGOALS)),,1)

deps: ## see that the needed packages are installed
	@$(if $(DEPS_SEEN),:,DEPS='$(DEPS)' BLIS_DIR='$(BLIS_DIR)' CC='$(CC)' CLANG='$(CLANG)' tools/deps/install.sh $(DEPS_SETS))
	@$(if $(DEPS_SEEN)$(call no_check_goal),:,DEPS='$(DEPS)' tools/deps/install.sh doors || echo '  skip  doors whose packages cannot be had')

# Looked up when a recipe runs: before that, the package may not be there yet.
blis = $(shell BLIS_DIR='$(BLIS_DIR)' CC='$(CC)' tools/deps/blis.sh $(1))
ifneq ($(BLIS_DIR),)
export LD_LIBRARY_PATH := $(BLIS_DIR)/lib:$(LD_LIBRARY_PATH)
endif

# ---- compiling -------------------------------------------------------------

WARN_FLAGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes $(if $(WERROR),-Werror)
SAN_FLAGS  = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# Sanitized programs share one library that hides nothing: each with all of it inside would take 80 MB.
VISIBLE    = $(if $(SAN),-fno-semantic-interposition,-fvisibility=hidden)
ALL_CFLAGS = -std=c11 $(WARN_FLAGS) $(all_flags) -fPIC $(VISIBLE) $(SAN_FLAGS) $(if $(DEBUG),-DTN_DEBUG) $(CPPFLAGS) $(CFLAGS)
# Threads for large nests, where the compiler has OpenMP and its library; OPENMP= builds without.
OPENMP    ?= 1
omp       := $(if $(OPENMP),$(shell printf '\043include <omp.h>\nint main(void) { return omp_get_num_threads() - 1; }' | \
               $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp))
omp_lib   := $(if $(omp),$(if $(findstring clang,$(CC)),$(omp),-lgomp))
# Eigenvalues and their kin are computed by LAPACK; LAPACK=0 (or no, or nothing) builds a library that refuses them.
LAPACK    ?= 1
lapack    := $(filter-out 0 no off,$(LAPACK))
lapack_libs = $(shell CC='$(CC)' tools/deps/lapack.sh $(1))
LIBS       = $(omp_lib) $(if $(lapack),$(call lapack_libs,--libs)) $(if $(SLEEF),-lsleef) $(call blis,--libs) -lpthread -ldl -lm

machine   := $(shell $(CC) -dumpmachine)
clang_only = $(if $(findstring clang,$(CC)),$(1))

# What mk/flags.txt says: rows that hold here, each one word, "flags|files" with ; for spaces.
holds      = any $(if $(findstring clang,$(CC)),clang,gcc) $(if $(filter x86_64%,$(machine)),x86) \
             $(if $(omp),openmp) $(if $(SLEEF),sleef) $(if $(lapack),lapack)
flag_rows := $(shell sed -n '/^[a-z]/ { s/ *| */|/g; s/  */;/g; s/\*/%/g; p; }' mk/flags.txt)
cut        = $(subst ;, ,$(word $(1),$(subst |, ,$(2))))
flag_rows := $(foreach r,$(flag_rows),$(if $(filter $(holds),$(call cut,1,$(r))),$(patsubst $(call cut,1,$(r))|%,%,$(r))))
all_flags  = $(foreach r,$(filter %|all,$(flag_rows)),$(call cut,1,$(r)))
row_flags  = $(foreach r,$(filter-out %|all,$(flag_rows)),$(if $(filter $(call cut,2,$(r)),$(1)),$(call cut,1,$(r))))
# Sanitized products at -O1 take half of some tests' time.  What tests spend little time in is compiled at -O0, a fifth
# of the time; not in check-long.
san_flags  = $(if $(SAN),$(if $(filter src/run/gemm_context.c,$(1)),-O2,$(if $(LONG),,$(if $(filter $(san_cold),$(1)),-O0))))
san_cold   = $(addsuffix /%,$(addprefix src/,prims cli emit cgen jit trace api ode structs vec)) src/run/small_gemm%
# What a file is compiled with besides: all that is known before a recipe runs, and BLIS's.
flags_of   = $(if $(findstring @BLIS@,$(own_flags)),$(subst @BLIS@,$(call blis,--cflags),$(own_flags)),$(own_flags))
own_flags  = -Iinclude \
  $(if $(filter src/%,$(1)),-Isrc $(call clang_only,-Wmissing-variable-declarations)) \
  $(if $(filter tests/% bench/%,$(1)),-Isrc -Itests) \
  $(if $(filter tests/%,$(1)),$(if $(filter -O3,$(CFLAGS)),-O1 $(if $(filter -g%,$(CFLAGS)),-g1))) \
  $(call row_flags,$(1)) $(call san_flags,$(1)) \
  $(if $(filter bench/harness.c,$(1)),$(BENCH_HAS)) \
  $(if $(filter doors/mpi/test_%,$(1)),-Itests) \
  $(if $(filter tests/fuzz/%,$(1)),-Wno-missing-prototypes) $(call door_flags,$(1))

# The command of each file of the library, for tests/projects.
print-flags:
	$(foreach f,$(LIB_SRC),$(info $(f) $(ALL_CFLAGS) $(call flags_of,$(f))))@:
# What the static library is linked with, for python/setup.py.
print-libs:
	@echo $(LIBS)
print-static-libs:
	@echo $(libs_private)
.PHONY: print-flags print-libs print-static-libs

Q    = $(if $(V),,@)
say  = @$(if $(V),:,printf '  %-5s %s\n' $(1) $@)
link = $(Q)$(or $(LINKER),$(CC)) $(LDFLAGS) $(SAN_FLAGS) -o $@ $(filter %.o %.a %.so.0,$^) $(LINK_MORE) $(SHARED_LIB) $(LIBS)
# Sanitized programs find the library that they share (VISIBLE) beside them or one folder up.
SHARED_LIB = $(if $(SAN),-Wl$(comma)-rpath$(comma)'$$ORIGIN:$$ORIGIN/..:$$ORIGIN/../..')

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | deps
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(call flags_of,$<) -MMD -MP -c -o $@ $<
	@echo '$(strip $(call own_flags,$<))' >$(@:.o=.flags)

# These files change when the flags or the list of sources do, and only then.
remember = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@
$(BUILD)/flags: FORCE
	$(call remember,$(CC) $(ALL_CFLAGS) $(BLIS_DIR))
$(BUILD)/sources: FORCE
	$(call remember,$(LIB_SRC))

$(LIB_A): $(call objects,$(LIB_SRC)) $(BUILD)/sources
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $(filter %.o,$^)

$(LIB_SO): $(call objects,$(LIB_SRC)) $(BUILD)/sources mk/tansy.map
	$(call say,LINK)
	$(Q)$(CC) -shared -Wl,-soname,libtansy.so.0 $(if $(SAN),,$(EXPORTS) -Wl$(comma)-z$(comma)defs) $(LDFLAGS) $(SAN_FLAGS) \
	    -o $@ $(filter %.o,$^) $(LIBS)
comma := ,
EXPORTS = -Wl,--version-script=mk/tansy.map

$(BUILD)/libtansy.so: $(LIB_SO)
	@ln -sf libtansy.so.0 $@

# Programs made of all the files of a folder.
$(TOOL): $(call objects,$(CLI_SRC)) $(LIB)
	$(call say,LINK)
	$(link)

# libtansy-mpi is loaded from beside the tool, or where make install puts it (run --mpi).  Under a sanitizer it is its
# run-time library that calls dlopen: only an old-style run path of the program's is looked up for others.
# Distributions set TOOL_RPATH= to nothing: there the system knows where libraries are.
TOOL_RPATH ?= $$ORIGIN:$$ORIGIN/../lib
$(TOOL): LINK_MORE = $(if $(SAN),-Wl$(comma)--disable-new-dtags,$(if $(TOOL_RPATH),-Wl$(comma)-rpath$(comma)'$(TOOL_RPATH)'))

$(BUILD)/demo: $(call objects,$(DEMO_SRC)) $(LIB)
	$(call say,LINK)
	$(link)

include mk/bench.mk

# Programs of one file.
$(EXAMPLES) $(BENCHES): $(BUILD)/%: $(BUILD)/obj/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)

# The examples as tests/emit has them: what they compile and call, the library's own calls too, is written to files.
RECORDED = $(EXAMPLES:$(BUILD)/examples/%=$(BUILD)/recorded/%) $(if $(DEMO_SRC),$(BUILD)/recorded/demo)
$(RECORDED): LINK_MORE = -Wl,--wrap=tn_compile,--wrap=tn_call $(no_debug)
$(filter-out %/demo,$(RECORDED)): $(BUILD)/recorded/%: $(BUILD)/obj/examples/%.o $(BUILD)/obj/tests/record_calls.o $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
$(BUILD)/recorded/demo: $(call objects,$(DEMO_SRC)) $(BUILD)/obj/tests/record_calls.o $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
$(BUILD)/emit: | $(RECORDED)

# ---- examples and measurements ---------------------------------------------

# A target that has no files yet says so.
skip = @echo '  skip  $@: no $(1)'

demo: $(if $(DEMO_SRC),$(BUILD)/demo) ## the main job: train on real data, fit by Newton-CG
	$(if $(DEMO_SRC),@$(BUILD)/demo $(DEMO_ARGS),$(call skip,examples/demo/*.c))

quickstart: $(BUILD)/examples/quickstart ## build and run the first program
	@$<

example-heat: $(BUILD)/examples/heat_lbfgs ## what a plate looked like before the heat spread, with a picture
	@$< $(BUILD)/heat.svg

example-lotka_volterra: $(BUILD)/examples/lotka_volterra ## parameters of a differential equation from noisy counts
	@$< $(BUILD)/lotka_volterra.svg

example-neural_ode: $(BUILD)/examples/neural_ode ## a neural differential equation learns a spiral
	@$< $(BUILD)/neural_ode.svg

# Four ranks: processes where MPI is, threads elsewhere.
four_ranks = $(if $(found_mpi),OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
               $(MPIRUN) -n 4 $<,$< --threads 4)
example-heat2d: $(BUILD)/examples/mpi/heat2d ## a plate in blocks on four ranks, and what it looked like before
	@$(four_ranks) $(BUILD)/heat2d.svg

example-train: $(BUILD)/examples/mpi/train ## a network that learns digits on four ranks, by data and by hidden units
	@$(four_ranks)
.PHONY: example-heat example-lotka_volterra example-neural_ode example-heat2d example-train

examples: $(EXAMPLES) ## every examples/*.c

# ---- installing ------------------------------------------------------------

D = $(DESTDIR)
install: all man ## into PREFIX= (/usr/local), below DESTDIR=
	install -d $(D)$(BINDIR) $(D)$(PCDIR) $(D)$(CMAKEDIR) $(D)$(INCLUDEDIR)/tansy $(D)$(MANDIR)/man1 $(D)$(MANDIR)/man3
	install -m 644 $(HEADERS) $(D)$(INCLUDEDIR)
	$(if $(SUBHEADERS),install -m 644 $(SUBHEADERS) $(D)$(INCLUDEDIR)/tansy)
	install -m 644 $(LIB_A) $(D)$(LIBDIR)
	install -m 755 $(LIB_SO) $(D)$(LIBDIR)
	ln -sf libtansy.so.0 $(D)$(LIBDIR)/libtansy.so
	$(if $(CLI_SRC),install -m 755 $(TOOL) $(D)$(BINDIR))
	install -m 644 docs/man/tansy.1 $(D)$(MANDIR)/man1
	install -m 644 docs/man/tansy.3 $(BUILD)/man/*.3 $(D)$(MANDIR)/man3
	install -d $(addprefix $(D)$(DOCDIR)/docs/,img tutorial rosetta)
	install -m 644 README.md LICENSE CHANGELOG.md $(D)$(DOCDIR)
	install -m 644 docs/*.md $(D)$(DOCDIR)/docs
	$(foreach d,img tutorial rosetta,install -m 644 docs/$(d)/* $(D)$(DOCDIR)/docs/$(d) &&) :
	$(call fill,tansy.pc.in) >$(D)$(PCDIR)/tansy.pc
	$(call fill,mk/tansy-config.cmake.in) >$(D)$(CMAKEDIR)/tansy-config.cmake
	$(call fill,mk/tansy-config-version.cmake.in) >$(D)$(CMAKEDIR)/tansy-config-version.cmake
	$(foreach d,$(BUILT),$(call install_door,$(d)))

# What is filled into files that say where things are.
libs_private = $(if $(omp),$(omp_lib) )$(if $(lapack),$(call lapack_libs,--static) )$(if $(SLEEF),-lsleef )$(call blis,--static) -lpthread -ldl -lm
cmake_list   = $(subst $() ,;,$(strip $(1)))
to_include   = $(shell realpath -ms --relative-to='$(CMAKEDIR)' '$(INCLUDEDIR)')
fill = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
    -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' -e 's|@TO_INCLUDEDIR@|$(to_include)|' \
    -e 's|@MPICC@|$(MPICC)|' -e 's|@MPIRUN@|$(MPIRUN)|' -e 's|@VERSION@|$(VERSION)|' \
    -e 's|@LIBS_PRIVATE@|$(libs_private)|' -e 's|@LIBS_LIST@|$(call cmake_list,$(libs_private))|' $(1)

wheel: $(LIB_A) $(TOOL) ## the Python package with all that it needs linked in, for any Linux: build/wheels; nothing is fetched
	@DEPS='$(DEPS)' tools/deps/install.sh python || :
	@BUILD='$(BUILD)' CC='$(CC)' tools/python/wheel.sh $(BUILD)/wheels

uninstall: ## take away what install put there
	rm -rf $(D)$(INCLUDEDIR)/tansy $(addprefix $(D)$(INCLUDEDIR)/,$(notdir $(HEADERS)))
	rm -f $(addprefix $(D)$(LIBDIR)/,libtansy.a libtansy.so.0 libtansy.so) $(D)$(PCDIR)/tansy.pc $(D)$(BINDIR)/tansy
	rm -f $(foreach d,$(DOORS),$(D)$(LIBDIR)/libtansy-$(d).* $(D)$(PCDIR)/tansy-$(d).pc)
	rm -f $(D)$(MANDIR)/man1/tansy.1 $(addprefix $(D)$(MANDIR)/man3/,tansy.3 $(shell tools/docs/man.sh --list $(HEADERS) $(SUBHEADERS) $(foreach d,$(DOORS),$(call door_headers,$(d)))))
	rm -rf $(D)$(DOCDIR) $(D)$(CMAKEDIR)

# ---- documents -------------------------------------------------------------

include mk/docs.mk

# ---- the rest --------------------------------------------------------------

include mk/doors.mk
include mk/check.mk
include mk/cross.mk

FORMATTED = $(shell find include src tests bench examples doors -name '[!.]*.[ch]' -o -name '[!.]*.hpp' 2>/dev/null)
format format-check:
	@DEPS='$(DEPS)' tools/deps/install.sh format
	@clang-format-16 $(if $(filter format,$@),-i,--dry-run --Werror) $(FORMATTED)
format: ## lay out every source file by .clang-format

clean: ## remove what was made
	rm -rf $(BUILD)

# An object is made anew when the flags of its file have changed since.
same   = $(and $(findstring x$(1)x,x$(2)x),$(findstring x$(2)x,x$(1)x))
source = $(patsubst $(BUILD)/obj/%.flags,%.c,$(1))
fresh  = $(call same,$(strip $(call own_flags,$(call source,$(1)))),$(strip $(file <$(1))))
made   = $(shell [ ! -d $(BUILD)/obj ] || find $(BUILD)/obj -name '*.$(1)')
$(foreach f,$(call made,flags),$(if $(call fresh,$(f)),,$(eval $(f:.flags=.o): FORCE)))
-include $(call made,d)
