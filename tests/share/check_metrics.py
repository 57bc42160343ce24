"""check_metrics.py PRINT_METRICS: what it writes is Prometheus' text format, by its own parser,
with help, type and every value."""
import os
import subprocess
import sys
import tempfile

from prometheus_client.parser import text_string_to_metric_families

MIB = 1 << 20
FIRST = {"program": "first", "pid": "100", "device": "gpu0"}
SECOND = {"program": 'a {b} \\"c\\"', "pid": "101", "device": 'a"\\n'}
COUNTS = ["faults", "refaults", "launches", "in_bytes", "out_bytes", "lent_bytes", "fetched_bytes"]


def expected():
    """{name: (type, [(labels, value)..])}"""
    devices = [{"device": "gpu0"}, {"device": 'a"\\n'}]
    metrics = {
        "device_memory_bytes": ("gauge", list(zip(devices, [16 * MIB, 32 * MIB]))),
        "device_programs": ("gauge", list(zip(devices, [1, 1]))),
        "device_takes_turns": ("gauge", list(zip(devices, [1, 0]))),
    }
    programs = {
        "own_bytes": ("gauge", [6 * MIB] * 2),
        "need_bytes": ("gauge", [10 * MIB] * 2),
        "borrowed_bytes": ("gauge", [4 * MIB] * 2),
        "waits": ("gauge", [0, 1]),
        "turns": ("counter", [7, 7]),
        "stalled_seconds": ("counter", [1.5, 1.5]),
        "waited_seconds": ("counter", [0.0000025, 0.0000025]),
    }
    for i, name in enumerate(COUNTS):
        programs[name] = ("counter", [1000 + i, 9007199254740000 + i])
    for name, (kind, values) in programs.items():
        metrics["program_" + name] = (kind, list(zip([FIRST, SECOND], values)))
    return metrics


def read(text):
    metrics = {}
    for family in text_string_to_metric_families(text):
        name = family.name.removeprefix("farfault_")
        assert family.name != name and family.documentation, family
        assert name not in metrics, f"{name} is there twice"
        suffix = "_total" if family.type == "counter" else ""
        for sample in family.samples:
            assert sample.name == family.name + suffix, sample
        metrics[name] = (family.type, [(s.labels, s.value) for s in family.samples])
    return metrics


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "farfault.prom")
        subprocess.run([sys.argv[1], path], check=True)
        with open(path, encoding="ascii") as file:
            got, wanted = read(file.read()), expected()
        assert os.listdir(folder) == ["farfault.prom"]
        assert subprocess.run([sys.argv[1], folder + "/none/x"], capture_output=True,
                              check=False).returncode == 1
    for name in sorted(got.keys() | wanted.keys()):
        assert got.get(name) == wanted.get(name), f"{name}: {got.get(name)}, not {wanted.get(name)}"


main()
