#!/bin/sh
# Golden values: compares what deterministic runs count with what is kept in tests/golden.
#   scripts/golden.sh            tells what differs
#   scripts/golden.sh --update   writes the files anew: `git diff tests/golden` shows the changes
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}

case ${1-} in
"") export TEST_GOLDEN=whole ;;
--update) export TEST_GOLDEN=update ;;
*)
    echo "golden.sh: '$1' is none of: --update" >&2
    exit 2
    ;;
esac

status=0
for test in sim/test_sim_costs golden/test_golden_workloads golden/test_golden_granules \
    golden/test_golden_bounds \
    golden/test_golden_oracle golden/test_golden_repro; do
    "$build/tests/$test" || status=1
done
exit $status
