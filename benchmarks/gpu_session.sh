#!/usr/bin/env bash
# Everything a machine with a CUDA device has to tell us, in one go and under eight minutes: gpu_session.sh OUTDIR
#
# PYTHON names the interpreter that holds torch (default python3). WHEELS names a folder with wheels of libcst and what
# else is missing; nothing is fetched. A step that fails or takes too long is reported, and the next one goes on.
# OUTDIR gets: summary.txt, facts.json, differences.txt, tests.txt, overhead.txt, records.tar.gz and messages.txt.
set -uo pipefail
out=${1:?gpu_session.sh OUTDIR}
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}
records=$(mktemp -d)
site=$records/site
trap 'rm -rf "$records"' EXIT
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
: >"$out/messages.txt"
: >"$out/summary.txt"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }

failed=0
deadline=465
step() { # SECONDS FILE NAME COMMAND...
    local limit=$1 file=$2 name=$3 started=$SECONDS code
    shift 3
    if ((SECONDS + limit > deadline)); then limit=$((deadline - SECONDS)); fi
    if ((limit < 5)); then say "NO TIME $name" && failed=1 && return; fi
    printf '\n== %s\n' "$name" >>"$out/messages.txt"
    timeout --kill-after=5 "$limit" "$@" >>"$file" 2>>"$out/messages.txt"
    code=$?
    if [[ $code -eq 124 || $code -eq 137 ]]; then say "TIME    $name: over $limit s"; else say "exit $code  $name ($((SECONDS - started)) s)"; fi
    [[ $code -eq 0 ]] || failed=1
}

if [[ -n ${WHEELS-} ]]; then
    step 60 "$out/messages.txt" "install what is missing" \
        "$python" -m pip install --quiet --no-index --no-deps --target "$site" "$WHEELS"/*.whl
    PYTHONPATH=$site:$PYTHONPATH
fi
step 60 "$out/summary.txt" "the device" "$python" -c '
import torch
if not torch.cuda.is_available():
    raise SystemExit("needs a CUDA device")
print(torch.cuda.get_device_name(0), "torch", torch.__version__)'

# What needs no test runner first: it is what only a card can tell.
step 120 "$out/summary.txt" "ask the device" "$python" tests/gpu/facts.py "$out/facts.json"
rm -f "$out/facts.events.jsonl"
step 150 "$out/summary.txt" "record the fixtures" "$python" tests/gpu/record_fixtures.py "$records/records"
[[ -d $records/records ]] && tar -C "$records" -czf "$out/records.tar.gz" records
step 30 "$out/differences.txt" "compare with the simulated device" \
    "$python" tests/gpu/against_simulated.py "$out/facts.json" "$records/records"
step 60 "$out/overhead.txt" "overhead" "$python" benchmarks/overhead.py 4 cuda
step 110 "$out/overhead.txt" "after the window" "$python" tests/gpu/after_window.py 2
TORCHPERF_GPU_FACTS=$out/facts.json step 120 "$out/tests.txt" "the suite" \
    "$python" -m pytest -q -p no:cacheprovider -rf --tb=short tests/gpu -k "not same_lines" -o addopts=
step 90 "$out/tests.txt" "the probes' tests with this torch" \
    "$python" -m pytest -q -p no:cacheprovider -rf --tb=short tests/runtime/probes -o addopts=
say "took $SECONDS s"
exit "$failed"
