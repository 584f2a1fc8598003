# The library for other processors and C libraries, as far as Debian's packages go (docs/portability.md).  Not part of
# make check: both are long, and skipped, loudly, where the packages are not there.

.PHONY: check-arm64 check-musl

# Built by the cross compiler, run by qemu: tests that are one program each.  Native code is compiled by the cross compiler,
# too, which the target's `cc` is.
ARM64       = $(BUILD)/arm64
ARM64_UNITS = $(filter-out $(ARM64_LEFT_OUT),$(UNITS))
# Start or link programs, which qemu does not; count steps of x86's kernels; take minutes.
ARM64_LEFT_OUT = fork gemm cgen emit_names prefetch auto_budget row_blocks budget constants steady
ARM64_TESTS = golden laws ranks $(ARM64_UNITS:%=unit-%)
arm64_target = $(abspath $(ARM64)/target)
arm64_run   = env PATH=$(arm64_target)/bin:$(PATH) qemu-aarch64 -E LD_LIBRARY_PATH=$(arm64_target)/lib:/usr/aarch64-linux-gnu/lib \
              /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1
check-arm64: ## goldens of JAX, laws, programs of many ranks and units on arm64, under qemu
	@tools/cross/arm64.sh $(arm64_target); s=$$?; [ $$s = 0 ] || { [ $$s = 77 ]; exit; }; \
	C_INCLUDE_PATH=$(arm64_target)/include LD_LIBRARY_PATH=$(arm64_target)/lib EMULATOR='$(arm64_run)' \
	$(MAKE) --no-print-directory DEPS_SEEN=1 BUILD=$(ARM64) CC='$(CCACHE) aarch64-linux-gnu-gcc' BLIS_DIR=$(arm64_target) \
	    LDFLAGS='-L$(arm64_target)/lib -Wl,-rpath-link,$(arm64_target)/lib' TESTS='$(ARM64_TESTS)' CHECK_N=3 CHECK_PROGRAMS=10 CHECK_RANKS=20 check
CCACHE = $(filter ccache,$(CC))

# Run as they are.  What is left out measures functions of the C library by glibc's figures (docs/portability.md).
MUSL_GCC     ?= musl-gcc
MUSL          = $(BUILD)/musl
MUSL_LEFT_OUT = number special ulp
MUSL_TESTS    = golden laws ranks $(MUSL_UNITS:%=unit-%)
MUSL_UNITS    = $(filter-out $(MUSL_LEFT_OUT),$(UNITS))
musl_target   = $(abspath $(MUSL)/target)
musl_make     = $(MAKE) --no-print-directory DEPS_SEEN=1 BUILD=$(MUSL) CC='$(CCACHE) $(MUSL_GCC)' OPENMP= LAPACK=0
check-musl: ## goldens of JAX, laws, programs of many ranks and units with musl (without a BLIS for it: compiled)
	@tools/cross/musl.sh $(musl_target) $(MUSL_GCC); s=$$?; [ $$s = 0 ] || [ $$s = 77 ] || exit 1; \
	if [ $$s = 0 ]; then \
	    C_INCLUDE_PATH=$(musl_target)/include $(musl_make) BLIS_DIR=$(musl_target) LDFLAGS=-L$(musl_target)/lib TESTS='$(MUSL_TESTS)' check; \
	elif command -v $(MUSL_GCC) >/dev/null; then $(musl_make) WERROR=1 CFLAGS=-O0 compiled; fi
.PHONY: compiled
compiled: $(call objects,$(LIB_SRC) $(CLI_SRC))
	@echo '$(words $^) files compiled'
