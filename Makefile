# The short commands. CMake does the work; the presets are in CMakePresets.json.

.PHONY: all setup install uninstall package package-test run test sanitize stress fuzz mutations \
        lint coverage bench format format-check clean
.SILENT:

# Continuous integration sets CI; a test that is skipped there is a failure.
ifdef CI
export TEST_FORBID_SKIPS ?= 1
endif

all: setup
	$(call build,release)

setup:
	scripts/setup.sh

# Builds without the tests and what only they need. DESTDIR is put in front of every path that is
# written to.
PREFIX ?= /usr/local
install:
	cmake --preset install -DCMAKE_INSTALL_PREFIX='$(PREFIX)'
	cmake --build --preset install
	scripts/install.sh cmake build/install '$(PREFIX)'

uninstall:
	scripts/uninstall.sh build/install/install_manifest.txt

# Debian packages, in build/package.
package:
	scripts/package.sh

package-test: package
	scripts/setup.sh scripts/packages-package.txt
	tests/packaging/chroot.sh build/package

run: setup
	cmake --preset release >/dev/null
	cmake --build --preset release --target farfault_cli farfault_opencl examples/opencl/all \
	    farfault_cuda examples/cuda/all
	scripts/run.sh

# The last lines are ctest's.
test: all
	$(call build,asan)
	$(call build,tsan)
	scripts/test.sh

sanitize: setup
	$(call build,asan)
	$(call build,tsan)
	scripts/test.sh asan tsan

stress: all
	scripts/setup.sh scripts/packages-stress.txt
	$(call build,asan)
	$(call build,tsan)
	scripts/test.sh --stress
	scripts/golden.sh
	TEST_STRESS_SECONDS=60 build/tests/test_soft_stress
	tests/programs/clblast.sh build/farfault xger xgemv xtrsv xgemm
	for script in allocators clfft clpeak gegl hashcat openmm pocl pyopencl \
	    thrust; do \
	    tests/programs/$$script.sh build/farfault || exit 1; done
	tests/programs/chromium.sh build/farfault
	for what in move huge_pages io_uring; do \
	    TEST_WITHOUT=$$what ctest --test-dir build --output-on-failure -LE $$what \
	        -R '^(soft|runtime|preload)\.' || exit 1; done
	TEST_STRESS_FAULTS=1000000 build/tests/test_soft_counters
	TEST_REPEATS=300 build/tests/share/test_share_programs
	TEST_REPEATS=60 ctest --test-dir build -R '^cli\.(share_)?crash$$' --output-on-failure \
	    --timeout 3600
	for test in soft_process soft_two_devices soft_guests soft_every_call runtime_context \
	    soft_link soft_describe; do \
	    TEST_REPEATS=1 build/tests/test_$$test || exit 1; done
	for test in soft_io soft_pinned runtime_active runtime_write soft_program_calls \
	    soft_small_device; do \
	    TEST_REPEATS=200 build/tests/test_$$test || exit 1; done
	TEST_REPEATS=50 ctest --test-dir build -R preload.mixture --output-on-failure

fuzz: setup
	$(call build,fuzz)
	scripts/fuzz.sh

# Breaks the code on purpose, in a copy, and says which breaks no test notices; ONLY=PATTERN makes
# some of them.
mutations: setup
	tests/mutations/run.py $(if $(ONLY),'$(ONLY)')

lint: all
	scripts/lint.sh

coverage: setup
	$(call build,coverage)
	scripts/coverage.sh

bench: all
	build/bench/farfault-bench --output build/bench/results.json

format:
	scripts/format.sh

format-check:
	scripts/format.sh --check

clean:
	rm -rf build

define build
	cmake --preset $(1) >build-$(1).log 2>&1 || { cat build-$(1).log; rm -f build-$(1).log; exit 1; }
	rm -f build-$(1).log
	cmake --build --preset $(1)
endef
