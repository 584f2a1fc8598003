# Doors: libraries of their own that lead from Tansy's public interface to a solver (docs/doors.md).  Each is built from
# doors/NAME where its solver is found, and passed over, loudly, where it is not.
#
# doors/NAME/include/tansy/NAME.h   what users see; no header of the solver's is in it, but for MPI's in tansy/mpi.h
# doors/NAME/include/tansy/NAME.hpp the same in C++, where there is such
# doors/NAME/test_*.c               a test each, of cmocka
# doors/NAME/test_*.cpp             a test each of the C++ header
# examples/*_NAME.c                 examples that need it

.PHONY: doors

DOORS = ipopt sundials nlopt lbfgs levmar mpi
$(foreach d,$(DOORS),$(eval found_$(d) = $$(call once,$(d))))

# What Debian calls the solver, how it is found, compiled and linked with.  Looked up when a recipe runs: before that it
# may not be there yet.  What was found once is not looked for again.
once = $(if $(seen_$(1)),,$(if $(look_$(1)),$(eval seen_$(1) := yes)))$(seen_$(1))
package_ipopt = coinor-libipopt-dev
look_ipopt    = $(shell pkg-config --exists ipopt 2>/dev/null && echo yes)
cflags_ipopt  = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags ipopt 2>/dev/null))
libs_ipopt    = $(shell pkg-config --libs ipopt 2>/dev/null)
requires_ipopt = ipopt

package_nlopt = libnlopt-dev
look_nlopt    = $(shell pkg-config --exists nlopt 2>/dev/null && echo yes)
cflags_nlopt  = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags nlopt 2>/dev/null))
libs_nlopt    = $(shell pkg-config --libs nlopt 2>/dev/null)

package_lbfgs = liblbfgs-dev
look_lbfgs    = $(shell printf '\043include <lbfgs.h>\n' | $(CC) -x c -fsyntax-only - 2>/dev/null && echo yes)
cflags_lbfgs  =
libs_lbfgs    = -llbfgs
shared_lbfgs  = doors/point.c

package_levmar = libcminpack-dev
look_levmar    = $(shell pkg-config --exists cminpack 2>/dev/null && echo yes)
cflags_levmar  = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags cminpack 2>/dev/null))
libs_levmar    = $(shell pkg-config --libs cminpack 2>/dev/null)
shared_levmar  = doors/point.c

# Debian's has no pkg-config files.  Version 7 has other contexts and error handlers: tests and examples are written for 6.
package_sundials = libsundials-dev 6, libsuitesparse-dev
cflags_sundials  = -isystem /usr/include/suitesparse
look_sundials    = $(shell printf '\043include <cvodes/cvodes.h>\n\043include <klu.h>\n\043if SUNDIALS_VERSION_MAJOR != 6\n\043error\n\043endif\n' | \
                     $(CC) $(cflags_sundials) -x c -fsyntax-only - 2>/dev/null && echo yes)
# The matrices come first: solvers' libraries have copies of them, and the door shall need no solver.
libs_sundials    = -Wl,--as-needed $(patsubst %,-lsundials_%,generic sunmatrixdense sunmatrixband sunmatrixsparse nvecserial \
                     nvecopenmp nvecmanyvector sunlinsoldense sunlinsolband sunlinsolklu sunlinsolspgmr cvodes idas kinsol arkode) -Wl,--no-as-needed

# Any MPI-3: MPICC= names its compiler, MPIRUN= what starts its programs.  Debian has Open MPI and MPICH beside each other
# (mpicc.openmpi, mpicc.mpich): where both are there, the other one's tests are built and run as well.
MPICC ?= mpicc
MPIRUN ?= $(subst mpicc,mpirun,$(MPICC))
mpi_show    = $(shell $(1) -show 2>/dev/null)
mpi_cflags  = $(patsubst -I%,-isystem %,$(filter -I% -D%,$(mpi_show)))
mpi_libs    = $(filter -L% -l% -Wl%,$(mpi_show))
package_mpi = libopenmpi-dev, openmpi-bin, or another MPI 3
look_mpi    = $(shell printf '\043include <mpi.h>\n\043if MPI_VERSION < 3\n\043error\n\043endif\n' | \
                $(CC) $(cflags_mpi) -x c -fsyntax-only - 2>/dev/null && command -v $(firstword $(MPIRUN)) >/dev/null && echo yes)
cflags_mpi  = $(call mpi_cflags,$(MPICC))
libs_mpi    = $(call mpi_libs,$(MPICC))
run_mpi     = doors/mpi/run.sh '$(MPIRUN)'

# libtansy-mpi takes nothing from libtansy but its header: the tool, which has that inside, loads it.
needs_mpi   = -Wl,--as-needed

door_dirs   = -Idoors/$(1)/include $(cflags_$(1))
# Examples of many ranks know MPI where it is, and have threads as ranks anywhere.
rank_flags  = $(if $(filter examples/mpi/%,$(1)),$(if $(found_mpi),-DTANSY_MPI $(call door_dirs,mpi)))
door_flags  = $(call rank_flags,$(1)) $(foreach d,$(DOORS),$(if $(filter doors/$(d)/% bench/$(d)/% examples/%_$(d).c,$(1)),$(call door_dirs,$(d))))
FOUND       = $(foreach d,$(DOORS),$(if $(found_$(d)),$(d)))
NOT_FOUND   = $(filter-out $(FOUND),$(DOORS))
door_tests  = $(basename $(patsubst doors/%,%,$(wildcard doors/$(1)/test_*.c doors/$(1)/test_*.cpp)))
door_headers = $(wildcard doors/$(1)/include/tansy/$(1).h doors/$(1)/include/tansy/$(1).hpp)
door_shows  = $(patsubst examples/%.c,%,$(wildcard examples/*_$(1).c))
no_door     = '  skip  doors-$(1): $(package_$(1)) not found'

# The tests of solvers make the library's own allocations fail.
fail_own    = $(if $(filter %/test_solver,$@),-Wl$(comma)--wrap=calloc$(comma)--wrap=malloc)

define door
SRC_door_$(1) := $$(filter-out doors/$(1)/test_%,$$(wildcard doors/$(1)/*.c)) $$(shared_$(1))

$(BUILD)/libtansy-$(1).a: $$(call objects,$$(SRC_door_$(1)))
	@rm -f $$@
	$$(call say,AR)
	$$(Q)ar rcs $$@ $$^

$(BUILD)/libtansy-$(1).so.0: $$(call objects,$$(SRC_door_$(1))) $$(LIB_SO) mk/tansy.map
	$$(call say,LINK)
	$$(Q)$$(CC) -shared -Wl,-soname,libtansy-$(1).so.0 $$(if $$(SAN),,$$(EXPORTS)) $$(LDFLAGS) $$(SAN_FLAGS) -o $$@ $$(filter %.o,$$^) $$(needs_$(1)) $$(filter %.so.0,$$^) $$(libs_$(1)) -lm

$$(patsubst %,$(BUILD)/doors/%,$$(call door_tests,$(1))): $(BUILD)/doors/%: $(BUILD)/obj/doors/%.o $(BUILD)/libtansy-$(1).a $$(LIB)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(link)
$$(patsubst %,$(BUILD)/doors/%,$$(call door_tests,$(1))): LINK_MORE = $$(libs_$(1)) -lcmocka $$(no_debug) $$(fail_own)

$$(patsubst %,$(BUILD)/examples/%,$$(call door_shows,$(1))): $(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(BUILD)/libtansy-$(1).a $$(LIB)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(link)
$$(patsubst %,$(BUILD)/examples/%,$$(call door_shows,$(1))): LINK_MORE = $$(libs_$(1))

$(BUILD)/check/door-$(1).res: FORCE
	$$(RUN) sh -c 'echo $$(package_$(1)) not found; exit 77'
endef
$(foreach d,$(DOORS),$(eval $(call door,$(d))))

# Tests in C++; the C++ compiler links them, with its sanitizers' C++ part.
$(BUILD)/obj/doors/%.o: doors/%.cpp $(BUILD)/flags | deps
	@mkdir -p $(@D)
	$(call say,C++)
	$(Q)$(CXX_OWN) $(call cxx_flags,$<) -I$(<D)/include -Itests/cpp -MMD -MP -c -o $@ $<
$(patsubst doors/%.cpp,$(BUILD)/doors/%,$(wildcard doors/*/test_*.cpp)): private LINKER = $(CXX_OWN)

# Tests of MPI's ranks share those of every table of collectives, and are no cmocka tests.
$(patsubst %,$(BUILD)/doors/%,$(call door_tests,mpi)): $(BUILD)/libtests.a
$(patsubst %,$(BUILD)/doors/%,$(call door_tests,mpi)): LINK_MORE = $(libs_mpi) $(no_debug)

# The tool loads the library (tansy run --mpi).
$(BUILD)/check/door-mpi-tool.res: doors/mpi/tool.sh $(TOOL) $(BUILD)/libtansy-mpi.so.0 FORCE
	$(RUN) $< '$(MPIRUN)'

RANKED = $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/mpi/*.c))
$(RANKED): $(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(if $(found_mpi),$(BUILD)/libtansy-mpi.a) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
$(RANKED): LINK_MORE = $(if $(found_mpi),$(libs_mpi))
examples: $(RANKED)

# The other MPI's tests, with the door's files in them: other headers, other objects.
OTHER_MPI := $(if $(call mpi_show,$(MPICC)),$(firstword $(foreach i,openmpi mpich,$(if \
               $(filter-out $(call mpi_show,$(MPICC)),$(call mpi_show,mpicc.$(i))),$(i)))))
OTHER = $(BUILD)/$(OTHER_MPI)
ifneq ($(OTHER_MPI),)
$(OTHER)/%.o: doors/mpi/%.c $(BUILD)/flags | deps
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -Iinclude -Idoors/mpi/include -Itests $(call mpi_cflags,mpicc.$(OTHER_MPI)) -MMD -MP -c -o $@ $<
$(patsubst mpi/%,$(OTHER)/%,$(call door_tests,mpi)): $(OTHER)/%: $(OTHER)/%.o $(patsubst doors/mpi/%.c,$(OTHER)/%.o,$(SRC_door_mpi)) $(LIB) $(BUILD)/libtests.a
	$(call say,LINK)
	$(link)
$(patsubst mpi/%,$(OTHER)/%,$(call door_tests,mpi)): LINK_MORE = $(call mpi_libs,mpicc.$(OTHER_MPI)) $(no_debug)
$(BUILD)/check/door-$(OTHER_MPI)-%.res: export TN_MPI_NP = $(few_ranks)
# MPICH's ranks that wait take a processor each, which is all that this test does.
$(BUILD)/check/door-mpich-limit.res: export TN_MPI_NP = 1 2
$(BUILD)/check/door-$(OTHER_MPI)-%.res: $(OTHER)/test_% FORCE
	$(RUN) doors/mpi/run.sh mpirun.$(OTHER_MPI) $<
-include $(wildcard $(OTHER)/*.d)
endif

# ---- what messages cost ----------------------------------------------------------

BENCH_MPI = $(patsubst bench/mpi/%.c,$(BUILD)/bench/mpi/%,$(wildcard bench/mpi/*.c))
$(BENCH_MPI): $(BUILD)/bench/mpi/%: $(BUILD)/obj/bench/mpi/%.o $(BUILD)/libtansy-mpi.a $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(link)
$(BENCH_MPI): LINK_MORE = $(libs_mpi)

.PHONY: bench-mpi
bench-mpi: $(if $(filter mpi,$(FOUND)),$(BENCH_MPI)) ## messages of many ranks beside MPI's own, and what they cost: JSON lines; NP= (2)
	$(if $(filter mpi,$(FOUND)),@set -e; for b in $(BENCH_MPI); do OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
	    $(MPIRUN) -n $(or $(NP),2) $$b; done,$(call skip,MPI))

doors: all $(foreach d,$(FOUND),$(BUILD)/libtansy-$(d).a $(BUILD)/libtansy-$(d).so.0) ## libraries for Ipopt, SUNDIALS, NLopt, libLBFGS, cminpack and MPI, where they are found
	@$(foreach d,$(NOT_FOUND),echo $(call no_door,$(d));):

# ---- tests -------------------------------------------------------------------

# One name for a door whose solver is not found, so that its absence is seen.
TESTS_doors = $(foreach d,$(FOUND),$(patsubst $(d)/test_%,door-$(d)-%,$(call door_tests,$(d))) \
                $(patsubst %,door-$(d)-example-%,$(call door_shows,$(d)))) $(NOT_FOUND:%=door-%) $(if $(filter mpi,$(FOUND)),door-mpi-tool) \
                $(if $(OTHER_MPI),$(patsubst mpi/test_%,door-$(OTHER_MPI)-%,$(call door_tests,mpi)))

SHORT_heat_lbfgs = --short
$(BUILD)/check/door-mpi-%.res: export TN_MPI_NP = $(few_ranks)
define door_results
$$(patsubst $(1)/test_%,$(BUILD)/check/door-$(1)-%.res,$$(call door_tests,$(1))): $(BUILD)/check/door-$(1)-%.res: $(BUILD)/doors/$(1)/test_% FORCE
	$$(RUN) $$(run_$(1)) $$<
$$(patsubst %,$(BUILD)/check/door-$(1)-example-%.res,$$(call door_shows,$(1))): $(BUILD)/check/door-$(1)-example-%.res: $(BUILD)/examples/% FORCE
	$$(RUN) $$(run_$(1)) $$< $$(SHORT_$$*) $(BUILD)/$$*.svg
endef
$(foreach d,$(DOORS),$(eval $(call door_results,$(d))))

# ---- installing: the doors that were built -------------------------------------

# What programs of these doors call themselves; others get the solver with the door.
called_sundials = yes
called_mpi      = yes
door_libs   = $(call cmake_list,$(filter -L% -l%,$(libs_$(1))))
fill_door   = sed -e 's|@DOOR@|$(1)|g' -e 's|@DOOR_LIBS@|$(if $(called_$(1)),$(call door_libs,$(1)))|' \
                -e 's|@DOOR_LIBS_STATIC@|$(call door_libs,$(1))|' \
                -e 's|@DOOR_CFLAGS@|$(if $(called_$(1)),SHELL:$(cflags_$(1)))|'

BUILT = $(foreach d,$(DOORS),$(if $(wildcard $(BUILD)/libtansy-$(d).so.0),$(d)))
define install_door
	install -m 644 $(call door_headers,$(1)) $(D)$(INCLUDEDIR)/tansy
	install -m 644 $(BUILD)/libtansy-$(1).a $(D)$(LIBDIR)
	install -m 755 $(BUILD)/libtansy-$(1).so.0 $(D)$(LIBDIR)
	ln -sf libtansy-$(1).so.0 $(D)$(LIBDIR)/libtansy-$(1).so
	$(call fill,doors/$(1)/tansy-$(1).pc.in) >$(D)$(PCDIR)/tansy-$(1).pc
	$(call fill_door,$(1)) mk/tansy-door.cmake.in >$(D)$(CMAKEDIR)/tansy-door-$(1).cmake

endef

$(BUILD)/check/install.res: | doors
