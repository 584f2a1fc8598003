# The library for other processors and C libraries, as far as Debian's packages go (docs/portability.md).  Not part of
# make check: both are long, and skipped, loudly, where the packages are not there.

.PHONY: check-arm64 check-musl

# Built by the cross compiler, run by qemu.  These tests are one program each; the others are scripts, or call a compiler.
ARM64       = $(BUILD)/arm64
ARM64_UNITS = krylov jacobian_values npy_json structs
ARM64_TESTS = golden ranks $(ARM64_UNITS:%=unit-%)
arm64_libs  = $(abspath $(ARM64)/target/lib)
check-arm64: ## goldens of JAX, programs of many ranks and some units on arm64, under qemu
	@tools/cross/arm64.sh $(ARM64)/target; s=$$?; [ $$s = 0 ] || { [ $$s = 77 ]; exit; }; \
	C_INCLUDE_PATH=$(abspath $(ARM64)/target/include) LD_LIBRARY_PATH=$(arm64_libs) \
	EMULATOR='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
	$(MAKE) --no-print-directory DEPS_SEEN=1 BUILD=$(ARM64) CC='$(CCACHE) aarch64-linux-gnu-gcc' BLIS_DIR=$(abspath $(ARM64)/target) \
	    LDFLAGS='-L$(arm64_libs) -Wl,-rpath-link,$(arm64_libs)' TESTS='$(ARM64_TESTS)' \
	    CHECK_N=$(SHORT_N) CHECK_PROGRAMS=$(SHORT_N) CHECK_RANKS=$(SHORT_RANKS) check
CCACHE = $(filter ccache,$(CC))

# Compiled, not linked: BLIS has no package for musl.  Warnings do not want optimization.
MUSL_GCC ?= musl-gcc
check-musl: ## the library and the tool compile with musl's headers, warnings as errors
	@if command -v $(MUSL_GCC) >/dev/null; then \
	    $(MAKE) --no-print-directory DEPS_SEEN=1 BUILD=$(BUILD)/musl CC='$(CCACHE) $(MUSL_GCC)' OPENMP= LAPACK=0 WERROR=1 CFLAGS=-O0 compiled; \
	else echo '  skip  check-musl: no $(MUSL_GCC) (Debian: musl-tools)'; fi
.PHONY: compiled
compiled: $(call objects,$(LIB_SRC) $(CLI_SRC))
	@echo '$(words $^) files compiled'
