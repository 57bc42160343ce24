#!/usr/bin/env python3
"""Breaks the code on purpose and says which breaks no test notices.

run.py --check         every break still applies: its text is in its file exactly once
run.py [PATTERN...]    makes the breaks whose name, file or tests match a pattern, one by one, in a
                       copy of the tree, and runs the tests that must fail; without one, all

docs/testing.md says how a break is written down.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "mutations"
COPY = WORK / "source"
LIMIT = 60  # seconds, and twice what they took, for the tests of a break: hanging is noticing


class Mutation:
    def __init__(self, name, where):
        self.name, self.where, self.tests, self.edits = name, where, [], []


def read():
    """All breaks, in the order of the files that hold them."""
    mutations = []
    for path in sorted(HERE.glob("*.txt")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            key, _, rest = line.partition(" ")
            where = f"{path.name}:{number}"
            if not line or key == "#":
                continue
            if key == "=":
                mutations.append(Mutation(rest, where))
            elif key == "file":
                mutations[-1].edits.append([rest, [], []])
            elif key in "-+":
                mutations[-1].edits[-1]["-+".index(key) + 1].append(rest)
            elif key == "fails":
                mutations[-1].tests += rest.split()
            else:
                sys.exit(f"{where}: a line begins with =, file, -, +, fails or #, not {key}")
    return mutations


def pattern(lines):
    """Finds the text however it is broken into lines."""
    tokens = re.findall(r"\w+|\S", " ".join(lines))
    return re.compile(r"(?<!\w)" + r"\s*".join(map(re.escape, tokens)) + r"(?!\w)")


def broken(mutation, root):
    """The files that it changes, with their new text, or what is wrong with it."""
    texts = {}
    if not mutation.edits or not mutation.tests:
        return None, "it changes nothing, or no test is to fail"
    for name, before, after in mutation.edits:
        path = root / name
        if not path.is_file():
            return None, f"there is no {name}"
        text = texts.get(path, path.read_text())
        found = list(pattern(before).finditer(text))
        if not before or len(found) != 1:
            return None, f"its text is in {name} {len(found)} times, not once"
        start, end = found[0].span()
        texts[path] = text[:start] + "\n".join(after) + text[end:]
    return texts, None


def check(mutations):
    bad = 0
    for mutation in mutations:
        problem = broken(mutation, ROOT)[1]
        if problem:
            print(f"{mutation.where}: {mutation.name}: {problem}")
            bad += 1
    print(f"{len(mutations)} breaks, {bad} of which no longer apply")
    return bad


def copy_tree():
    """A copy that the breaks go into; what has not changed keeps its time, for the build."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True).stdout.decode().split("\0")
    kept = {name for name in listed if name and (ROOT / name).is_file()}
    for name in kept:
        source, target = ROOT / name, COPY / name
        if not target.is_file() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for path in COPY.rglob("*"):
        if path.is_file() and str(path.relative_to(COPY)) not in kept:
            path.unlink()


class Build:
    """One of the presets, configured for the copy; names of its tests may have a prefix."""

    def __init__(self, preset):
        self.folder = WORK / preset
        quiet(["cmake", "--preset", preset, "-B", self.folder, "-DFARFAULT_WERROR=OFF"], COPY)
        shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.folder, check=True,
                               capture_output=True).stdout
        self.tests = {test["name"]: test for test in json.loads(shown)["tests"]}
        self.seconds = {}

    def needs(self, names):
        """What these tests' commands name in the folder, as far as the build makes it."""
        made = subprocess.run(["ninja", "-t", "targets", "all"], cwd=self.folder, check=True,
                              capture_output=True, text=True).stdout
        made = {line.split(":")[0] for line in made.splitlines()}
        words = set()
        for name in names:
            for word in self.tests[name]["command"]:
                if word.startswith(f"{self.folder}/"):
                    word = word[len(f"{self.folder}/"):]
                    words |= {word, f"{word}/all"}  # a file, or what a folder has
        return sorted(words & made)

    def make(self, names):
        targets = self.needs(names)
        return not targets or quiet(["nice", "ninja", "-C", self.folder, *targets], COPY, False)

    def failing(self, names, limit=None):
        """Those of the tests that fail."""
        limit = limit or LIMIT + 2 * sum(self.seconds.get(name, 0) for name in names)
        chosen = "^(" + "|".join(map(re.escape, names)) + ")$"
        run = subprocess.Popen(["ctest", "-j2", "-R", chosen], text=True, cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               start_new_session=True)
        try:
            shown = run.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            end_session(run.pid)
            shown = run.communicate()[0]
        passed = dict(re.findall(r"Test +#\d+: (\S+) \.* +Passed +([\d.]+) sec", shown))
        self.seconds = self.seconds or {name: float(taken) for name, taken in passed.items()}
        return [name for name in names if name not in passed]


def end_session(session):
    """Ends ctest and its tests, which have process groups of their own."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has just ended


def quiet(command, folder, must=True):
    run = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if must and run.returncode:
        sys.exit(run.stdout)
    return run.returncode == 0


def preset_of(test):
    prefix = test.split(".")[0]
    return prefix if prefix in ("asan", "tsan") else "release"


def try_one(mutation, builds, bad):
    """What is to be said about it, or nothing if each of its tests fails."""
    texts, problem = broken(mutation, COPY)
    if problem:
        return f"no longer applies: {problem}"
    if bad.intersection(mutation.tests):
        return f"fails without it: {' '.join(sorted(bad.intersection(mutation.tests)))}"
    whole = {path: path.read_bytes() for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text)
        unnoticed = []
        for preset, build in builds.items():
            names = [test for test in mutation.tests if preset_of(test) == preset]
            if names and not build.make(names):
                return "does not compile"
            failing = build.failing(names) if names else []
            unnoticed += [name for name in names if name not in failing]
        return f"not noticed by {' '.join(unnoticed)}" if unnoticed else None
    finally:
        for path, content in whole.items():
            path.write_bytes(content)


def ready(mutations):
    """The builds, without a break, and the tests that are to fail and do so already."""
    copy_tree()
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    builds, bad = {}, set()
    for preset in sorted({preset_of(test) for test in tests}, reverse=True):
        builds[preset] = Build(preset)
        names = [test for test in tests if preset_of(test) == preset]
        unknown = [name for name in names if name not in builds[preset].tests]
        if unknown:
            sys.exit(f"there are no tests {' '.join(unknown)}")
        print(f"{preset}: building what {len(names)} tests need", flush=True)
        if not builds[preset].make(names):
            sys.exit("the tests do not compile without a break")
        bad.update(builds[preset].failing(names, 60 * LIMIT))
    return builds, bad


def main(words):
    mutations = read()
    if words == ["--check"]:
        return check(mutations)
    if words:
        mutations = [mutation for mutation in mutations if any(
            re.search(word, " ".join([mutation.name, *mutation.tests, *(
                edit[0] for edit in mutation.edits)])) for word in words)]
    if not mutations:
        sys.exit("no break matches")
    builds, bad = ready(mutations)
    findings = []
    for index, mutation in enumerate(mutations, 1):
        began = time.monotonic()
        finding = try_one(mutation, builds, bad)
        print(f"[{index}/{len(mutations)}] {time.monotonic() - began:4.0f} s  {mutation.name}: "
              f"{finding or 'noticed'}", flush=True)
        if finding:
            findings.append(f"{mutation.where}: {mutation.name}: {finding}")
    print(f"\n{len(mutations)} breaks, {len(mutations) - len(findings)} noticed")
    print("\n".join(findings))
    return len(findings)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
