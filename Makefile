# The short commands. CMake does the work; the presets are in CMakePresets.json.

.PHONY: all setup run test sanitize stress fuzz bench format clean
.SILENT:

all: setup
	$(call build,release)

setup:
	scripts/setup.sh

run: all
	scripts/run.sh

test: all
	$(call build,clang)
	ctest --test-dir build --output-on-failure --timeout 600 --parallel 2
	$(MAKE) sanitize

sanitize: setup
	$(call build,asan)
	$(call build,tsan)
	scripts/sanitize.sh

stress: all
	FARFAULT_STRESS_SECONDS=60 build/tests/test_soft_stress

fuzz: setup
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz
	scripts/fuzz.sh

bench: all
	build/bench/farfault-bench --output build/bench/results.json

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

define build
	cmake --preset $(1) >build-$(1).log 2>&1 || { cat build-$(1).log; rm -f build-$(1).log; exit 1; }
	rm -f build-$(1).log
	cmake --build --preset $(1)
endef
