#!/bin/sh
# farfault report: the page is whole in itself, and its figures are those of the run.
. "$(dirname "$0")/common.sh"

data_of() { # PAGE: the JSON in it
    sed -n 's,.*<script type="application/json" id="data">\(.*\)</script>.*,\1,p' "$1"
}

# Elements are closed in the order in which they were opened, and nothing is asked of a network. A
# browser is more lenient: this finds what it would mend.
cat >check.py <<'END'
import html.parser
import re
import sys

VOID = {"meta", "link", "br", "img"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.scripts = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "action", "srcset", "data"):
                self.wrong.append(f"{tag} has {name}={value}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")

    def handle_data(self, text):
        if self.open[-1:] == ["script"]:
            self.scripts.append(text)


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
if not text.startswith("<!DOCTYPE html>"):
    page.wrong.append("no document type")
if page.open:
    page.wrong.append(f"not closed: {page.open}")
if len(page.scripts) != 3:
    page.wrong.append(f"{len(page.scripts)} scripts, not 3")
# names of XML are no addresses
for address in re.findall(r"https?://[^\"'\s)]*|@import|url\(", text):
    if not address.startswith("http://www.w3.org/"):
        page.wrong.append(address)
print("\n".join(page.wrong), end="")
sys.exit(1 if page.wrong else 0)
END

page_is_good() { # PAGE
    /usr/bin/python3 check.py "$1" >wrong 2>&1 || fail "$1: $(cat wrong)"
    [ "$(wc -c <"$1")" -lt 1000000 ] || fail "$1 has $(wc -c <"$1") bytes"
    data_of "$1" >data.of
    "$json_get" data.of kind >kind 2>&1 || fail "$1: its data is not JSON: $(cat kind)"
}

sum_of() { # MEMBER ARRAY: of the data, of an array of objects or of slices
    /usr/bin/python3 - "$1" "$2" <<'END'
import json
import sys

data = json.load(open("data.of"))
member, array = sys.argv[1:]
print(sum(data[array][member]) if array == "slices" else sum(row[member] for row in data[array]))
END
}

# ---- a simulation: what the page says is what the run says

status 0 sim stream:size=8M --systems nvidia --gpu gtx1080ti --memory 50% --trace s.trace \
    --json=s.json
status 0 report s.trace --output s.html
[ ! -s out ] && [ ! -s err ] || fail "report of a trace says something: $(cat out err)"
page_is_good s.html
json data.of trace kind
json data.of sim head source
json data.of "$("$json_get" s.json runs 1 footprint)" head footprint
json data.of "$("$json_get" s.json runs 1 memory)" head memory
# The trace itself, by another reader: faults and pages.
status 0 export s.trace --output s.perfetto
/usr/bin/python3 - <<'END' >expected
import json

events = json.load(open("s.perfetto"))["traceEvents"]
pages = {"migrate": 0, "evict": 0}
for event in events:
    if event["ph"] == "i" and event["name"] in pages:
        pages[event["name"]] += event["args"]["pages"]
faults = sum(event["ph"] == "i" and event["name"] == "fault" for event in events)
print(faults, pages["migrate"] * 4096, pages["evict"] * 4096,
      sum(event["ph"] == "X" for event in events))
END
read -r faults bytes_in bytes_out launches <expected
[ "$faults" -gt 0 ] && [ "$bytes_out" -gt 0 ] || fail "the trace shows nothing: $(cat expected)"
json data.of "$launches" head launches
for array in kernels buffers slices; do
    for pair in faults:"$faults" bytes_in:"$bytes_in" bytes_out:"$bytes_out"; do
        got=$(sum_of "${pair%%:*}" $array)
        [ "$got" = "${pair#*:}" ] || fail "$array: ${pair%%:*}: $got, not ${pair#*:}"
        json data.of "${pair#*:}" head "${pair%%:*}"
    done
done
[ "$(sum_of launches kernels)" = "$launches" ] || fail "kernels do not have all launches"
# What comes back crosses the link; of what arrives, pages without content do not.
crossed=$("$json_get" s.json runs 1 bytes_in)
[ "$crossed" -le "$bytes_in" ] && [ "$crossed" -ge "$("$json_get" data.of head bytes_back)" ] ||
    fail "$crossed bytes have crossed the link, of $bytes_in"
/usr/bin/python3 - <<'END' >wrong || fail "distances and maps: $(cat wrong)"
import json
import sys

data = json.load(open("data.of"))
back = sum(bytes for _, bytes in data["distances"])
if back != data["head"]["bytes_back"]:
    sys.exit(print("distances:", back))
if max(data["slices"]["held"]) > data["head"]["memory"]:
    sys.exit(print("more held than there is"))
for name, rows in data["maps"].items():
    low = sum(2 ** (int(c, 36) - 1) for row in rows for c in row if c != "0")
    whole = {"faults": data["head"]["faults"], "pages": data["head"]["bytes_in"] // 4096}
    if name in whole and not low <= whole[name] < 2 * low:
        sys.exit(print(name, low, whole[name]))
if not 0 < len(data["bars"]) <= data["head"]["launches"]:
    sys.exit(print("bars:", len(data["bars"])))
END
data_of s.html | grep -q '"number":1,' || fail 'half of the memory is no reason for R1'

# ---- what fits has no tip but that, and nothing comes back

status 0 sim stream:size=8M --systems nvidia --gpu gtx1080ti --memory 200% --trace fits.trace
status 0 report fits.trace --output - # standard output has the page
mv out fits.html
page_is_good fits.html
json data.of 0 head bytes_back
json data.of '[1]' tips
json data.of 7 tips 0 number

# ---- results

status 0 report s.json --output results.html
page_is_good results.html
json data.of results kind
json data.of '[2]' runs
json data.of "$("$json_get" s.json runs 1 faults)" runs 1 faults
# A name is text, whatever is in it.
sed 's,"subject": "stream[^"]*","subject": "</script><script>alert(1)//@@JS@@",' s.json >evil
"$farfault" report evil --output evil.html 2>err || fail "report evil: $(cat err)"
page_is_good evil.html
json data.of '</script><script>alert(1)//@@JS@@' runs 0 subject

# ---- for a terminal: the same figures

shows() { # PATTERN
    grep -qE "$1" out || fail "no line of the report is '$1': $(cat out)"
}

status 0 report s.trace --text
data_of s.html >data.of
shows "^$("$json_get" data.of head faults) faults \\([0-9]+ again\\), "
shows '^  faults +.*▁.*  at most [0-9]+$'
shows '^  R1 Memory is used again after it has left$'
shows '^  stream +1 +'
status 0 report s.json --text --output both.html
page_is_good both.html
shows '^farfault sim: 2 runs$'
shows "^  nvidia +50% .* $("$json_get" s.json runs 1 faults) "

# ---- a file of runs: as the results of the command that has ended last

comparison='sim stream:size=8M,zipf:size=4M --systems demand,nvidia --memory 50%,75%'
status 0 $comparison --part 1/2 --study s.study
mistake 1 'farfault report: s.study: no compare, sim or replay has ended; *' report s.study --text
status 0 $comparison --study s.study
status 0 report s.study --text --output study.html
page_is_good study.html
shows '^  R8 Which system is fastest$'
json data.of '[10]' runs # two with enough memory, and 2 x 2 x 2
status 0 $comparison --json=study.json
status 0 report study.json --output json.html
sed 's/study\.json/s.study/g' json.html | cmp -s - study.html || fail 'the pages differ'
status 0 sim zipf:size=4M --systems demand --memory 50% --study s.study
status 0 report s.study --output study.html
data_of study.html >data.of
json data.of '[2]' runs

# ---- what is no run

mistake 1 'farfault report: missing: No such file or directory' report missing --output p.html
: >empty
mistake 1 'farfault report: empty: the file is empty' report empty --output p.html
echo 'a text' >text
mistake 1 'farfault report: text: neither a trace nor JSON: line 1: *' report text --output p.html
head -c 3000 s.trace >cut.trace
mistake 1 'farfault report: cut.trace: *breaks off*' report cut.trace --output p.html
head -c 20 s.trace >stump.trace
mistake 1 'farfault report: stump.trace: *' report stump.trace --output p.html
head -c 300 s.json >cut
mistake 1 'farfault report: cut: neither a trace nor JSON: line *' report cut --output p.html
echo '{"runs": []}' >other
mistake 1 'farfault report: other: neither a trace, a file of runs, nor the JSON *' report other \
    --output p.html
echo '{"farfault": "1", "command": "run", "runs": []}' >none
mistake 1 'farfault report: none: has no runs' report none --output p.html
echo '{"farfault": "1", "command": "run", "runs": [{"a": 1}]}' >strange
mistake 1 "farfault report: strange: has runs that are none of farfault's" report strange \
    --output p.html
mistake 1 'farfault report: .: not a regular file' report . --output p.html
mistake 1 'farfault report: cannot write missing/p.html: *' report s.trace --output missing/p.html
[ ! -e p.html ] || fail 'there is a page of what is no run'
rm -f text.json

finish
