/* Draws the page from the JSON in it. docs/report.md says what each chart shows. */
"use strict";
(function () {

const data = JSON.parse(document.getElementById("data").textContent);
const main = d3.select("#main");
const redraws = []; // what depends on the width of the window, or on the scheme of colours

/* ---- quantities, as people write them ---- */

function scaled(value, step, units) {
    let unit = 0;
    while (Math.abs(value) >= step && unit + 1 < units.length) {
        value /= step;
        unit++;
    }
    const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 1;
    return value.toFixed(digits) + " " + units[unit];
}

const size = bytes => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const time = ns => ns === 0 ? "0 s" : scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
const count = d3.format(",d");
const short = value => value < 10000 ? count(value) : d3.format(".3s")(value);
const percent = (part, whole) => whole ? Math.round(100 * part / whole) + " %" : "–";
const ratio = value => value === null || value === undefined ? "–" : value.toFixed(2) + "x";
const times = value => +value.toPrecision(4) + "x"; // of an axis
const plain = value => value === null || value === undefined ? "–" : String(value);
const optional = format => value =>
    value === null || value === undefined ? "–" : format(value);
const plural = (number, word) => count(number) + " " + word + (number === 1 ? "" : "s");

/* ---- parts of the page ---- */

function section(title, text) {
    const box = main.append("section");
    box.append("h2").text(title);
    if (text)
        box.append("p").attr("class", "note").text(text);
    return box;
}

/* Tiles: [name, value, and what is to be known about it]. */
function tiles(box, items) {
    const list = box.append("dl").attr("class", "tiles");
    items.forEach(item => {
        const tile = list.append("div");
        tile.append("dt").text(item[0]);
        const value = tile.append("dd").text(item[1]);
        if (item[2])
            value.append("small").text(item[2]);
    });
}

function key(box, items) {
    const line = box.append("div").attr("class", "key");
    items.forEach(item => {
        const entry = line.append("span");
        entry.append("i").style("background", item[0]);
        entry.append("span").text(item[1]);
    });
}

/* A table whose rows can be sorted. Columns: {name, get, show, text}; text: it is no number. */
function table(box, columns, rows) {
    const frame = box.append("div").attr({class: "scroll", tabindex: 0, role: "region",
                                          "aria-label": "table"});
    const whole = frame.append("table");
    const heads = whole.append("thead").append("tr").selectAll("th").data(columns).enter()
        .append("th").attr("scope", "col").classed("text", c => c.text);
    const body = whole.append("tbody");
    heads.append("button").attr("type", "button").text(c => c.name).on("click", column => {
        const head = heads.filter(c => c === column);
        const down = head.attr("aria-sort") ? head.attr("aria-sort") === "ascending" : !column.text;
        heads.attr("aria-sort", null);
        head.attr("aria-sort", down ? "descending" : "ascending");
        rows.sort((a, b) => (down ? d3.descending : d3.ascending)(column.get(a), column.get(b)));
        fill();
    });
    function fill() {
        body.html("");
        rows.forEach(row => {
            const line = body.append("tr");
            columns.forEach(c => line.append("td").classed("text", c.text)
                .text((c.show || plain)(c.get(row))));
        });
    }
    fill();
}

function tableBehind(box, columns, rows) {
    const details = box.append("details");
    details.append("summary").text("as a table");
    table(details, columns, rows);
}

/* ---- drawing ---- */

const margin = {left: 74, right: 14};

/* Names have more room where there is more. */
function fitMargin() {
    margin.left = document.getElementById("main").clientWidth > 800 ? 124 : 74;
}

/* draw(svg, width) draws into an empty picture, now and whenever the width changes. */
function picture(box, label, height, draw) {
    const figure = box.append("figure");
    function redraw() {
        const width = Math.max(240, figure.node().clientWidth);
        figure.select("svg").remove();
        const svg = figure.insert("svg", ":first-child")
            .attr({width: width, height: height, role: "img", "aria-label": label});
        draw(svg, width);
    }
    redraws.push(redraw);
    redraw();
    return figure;
}

function axis(svg, scale, orient, x, y, ticks, format, lines) {
    const values = format === size ? byteTicks(scale, ticks) : null;
    const line = d3.svg.axis().scale(scale).orient(orient).ticks(ticks).tickValues(values)
        .tickFormat(format).outerTickSize(0)
        .innerTickSize(lines ? -lines : 4).tickPadding(6);
    svg.append("g").attr({class: "axis", transform: "translate(" + x + "," + y + ")"}).call(line);
}

/* Ticks of bytes, a power of two apart. */
function byteTicks(scale, wanted) {
    const ends = d3.extent(scale.domain()), most = Math.max(-ends[0], ends[1]) || 1;
    const step = Math.pow(2, Math.max(0, Math.ceil(Math.log2(most / wanted))));
    return d3.range(Math.ceil(ends[0] / step) * step, ends[1] + step / 1e6, step);
}

function byteAxis(svg, scale, x, width, ticks) {
    const line = d3.svg.axis().scale(scale).orient("left").tickValues(byteTicks(scale, ticks))
        .tickFormat(v => size(Math.abs(v))).outerTickSize(0).innerTickSize(-width).tickPadding(6);
    svg.append("g").attr({class: "axis", transform: "translate(" + x + ",0)"}).call(line);
}

/* A text of at most so many pixels, the whole of it as a tooltip. */
function cut(text, pixels) {
    const most = Math.max(4, Math.floor(pixels / 6.6));
    return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

/* ---- a recorded run ---- */

const head = data.head;
const slices = data.slices;
let cursor = null; // the slice that is pointed at
const cursors = [];

const timeScale = width => d3.scale.linear().domain([0, head.ns || 1])
    .range([margin.left, width - margin.right]);

function timeAxis(svg, width, y) {
    axis(svg, timeScale(width), "bottom", 0, y, Math.max(2, Math.round(width / 130)), time);
}

function describe(i) {
    const from = i * head.slice_ns;
    return time(from) + " – " + time(Math.min(head.ns, from + head.slice_ns)) + ": " +
        plural(slices.faults[i], "fault") + " (" + count(slices.refaults[i]) + " again), " +
        size(slices.bytes_in[i]) + " in (" + size(slices.bytes_back[i]) + " back), " +
        size(slices.bytes_out[i]) + " out, " + size(slices.held[i]) + " held";
}

function moveCursor(i, readout) {
    cursor = i === null ? null : Math.max(0, Math.min(slices.faults.length - 1, i));
    cursors.forEach(show => show());
    readout.text(cursor === null ? readout.attr("data-hint") : describe(cursor));
}

/* What all charts over time do with the pointer and the arrow keys. */
function followCursor(svg, width, height, readout) {
    const x = timeScale(width);
    const line = svg.append("line").attr({class: "cursor", y1: 0, y2: height});
    const show = () => line.style("display", cursor === null ? "none" : null)
        .attr({x1: x((cursor + 0.5) * head.slice_ns), x2: x((cursor + 0.5) * head.slice_ns)});
    cursors.push(show);
    show();
    svg.attr("tabindex", 0)
        .on("mousemove", function () {
            const at = d3.mouse(this)[0];
            moveCursor(at < margin.left ? null : Math.floor(x.invert(at) / head.slice_ns), readout);
        })
        .on("mouseleave", () => moveCursor(null, readout))
        .on("keydown", () => {
            const step = {ArrowLeft: -1, ArrowRight: 1}[d3.event.key];
            if (step) {
                d3.event.preventDefault();
                moveCursor(cursor === null ? 0 : cursor + step, readout);
            }
        });
}

function overTime(box, label, height, readout, draw) {
    return picture(box, label, height + 26, (svg, width) => {
        draw(svg, width, timeScale(width));
        timeAxis(svg, width, height);
        followCursor(svg, width, height, readout);
    });
}

/* The area between two lines, as steps of the slices. */
function area(svg, x, y, low, high, colour) {
    const shape = d3.svg.area().interpolate("step-after")
        .x((d, i) => x(Math.min(i * head.slice_ns, head.ns))).y0(i => y(low(i))).y1(i => y(high(i)));
    const points = d3.range(slices.faults.length);
    svg.append("path").attr("d", shape(points.concat(points[points.length - 1])))
        .style("fill", colour);
}

function sliceTable(box, columns) {
    const names = [{name: "from", get: i => i * head.slice_ns, show: time}];
    tableBehind(box, names.concat(columns), d3.range(slices.faults.length));
}

const sliceColumn = (name, values, show) => ({name: name, get: i => values[i], show: show});

function showHead() {
    const box = d3.select("#head");
    const kind = {sim: "Simulated", live: "Recorded live"}[head.source] ||
        "Imported from " + head.source;
    document.title = head.subject + " – farfault report";
    box.append("p").attr("class", "note").text("farfault report of " + data.file);
    sentence(box.append("h1"), head.subject || data.file);
    box.append("p").text(kind + ": " + time(head.ns) + ", " + plural(head.launches, "launch")
        .replace(/launchs$/, "launches") + ", " + plural(head.events, "event") + ".");
    const memory = head.memory ? size(head.memory) : "unknown";
    const share = head.memory && head.footprint
        ? percent(head.memory * Math.max(1, head.devices), head.footprint) + " of the footprint" : "";
    tiles(box, [
        ["time", time(head.ns)],
        ["footprint", size(head.footprint), plural(head.buffers, "buffer")],
        ["device memory", memory + (head.devices > 1 ? " × " + head.devices : ""), share],
        ["faults", short(head.faults), percent(head.refaults, head.faults) + " again"],
        ["came in", size(head.bytes_in), percent(head.bytes_back, head.bytes_in) + " came back"],
        ["left", size(head.bytes_out)],
    ]);
    if (head.faults === 0 && head.bytes_in === 0)
        box.append("p").text("A trace of " + head.records + ": it says what was used, not what " +
                             "moved. farfault replay runs it under a system.");
}

/* A text in which options of the command line are not broken into lines. */
function sentence(item, text) {
    text.split(/(--[a-z]\S*)/).forEach((part, i) => {
        item.append("span").classed("whole", i % 2 === 1).text(part);
    });
}

function showTips() {
    const box = section(data.kind === "trace" ? "What this run shows" : "What the runs show");
    if (data.tips.length === 0)
        box.append("p").text("Nothing stands out.");
    const list = box.append("ul").attr("class", "tips");
    data.tips.forEach(tip => {
        const item = list.append("li");
        item.append("b").text("R" + tip.number + " " + tip.title + ".");
        sentence(item.append("span"), tip.text);
    });
    if (data.tips.length > 0)
        box.append("p").attr("class", "note")
            .text("The numbers are those of sections of docs/report.md.");
}

function showLaunches(readout) {
    const box = section("Launches by kernel", "The kernels that took longest, each with a line. " +
                        "A bar is a launch, or several that follow each other closely.");
    const row = 20, height = data.lanes.length * row;
    overTime(box, "Launches by kernel over time", height, readout, (svg, width, x) => {
        data.lanes.forEach((name, i) => {
            svg.append("text").attr({x: margin.left - 6, y: i * row + 14, "text-anchor": "end"})
                .text(cut(name, margin.left - 8)).append("title").text(name);
            svg.append("line").attr({class: "row", x1: margin.left, x2: width - margin.right,
                                     y1: (i + 1) * row, y2: (i + 1) * row});
        });
        svg.append("g").selectAll("rect").data(data.bars).enter().append("rect")
            .attr({x: b => x(b[1]), y: b => b[0] * row + 3, height: row - 6,
                   width: b => Math.max(1, x(b[2]) - x(b[1]))})
            .style({fill: "var(--bar)",
                    opacity: b => 0.35 + 0.65 * Math.min(1, b[4] / Math.max(1, b[2] - b[1]))})
            .append("title").text(b => data.lanes[b[0]] + ": " + count(b[3]) + " launched from " +
                                  time(b[1]) + " to " + time(b[2]) + ", busy for " + time(b[4]));
    });
    tableBehind(box, [
        {name: "kernel", get: b => data.lanes[b[0]], text: true},
        {name: "from", get: b => b[1], show: time},
        {name: "to", get: b => b[2], show: time},
        {name: "launches", get: b => b[3], show: count},
        {name: "busy", get: b => b[4], show: time},
    ], data.bars.slice(0, 300));
}

function showFaults(readout) {
    const box = section("Faults", "By time. Again: for a page that had been on a device before.");
    key(box, [["var(--first)", "first time"], ["var(--again)", "again"]]);
    const height = 120;
    overTime(box, "Faults over time", height, readout, (svg, width, x) => {
        const y = d3.scale.linear().domain([0, d3.max(slices.faults) || 1]).range([height, 6]);
        axis(svg, y, "left", margin.left, 0, 4, d3.format("s"), width - margin.left - margin.right);
        area(svg, x, y, () => 0, i => slices.refaults[i], "var(--again)");
        area(svg, x, y, i => slices.refaults[i], i => slices.faults[i], "var(--first)");
    });
    sliceTable(box, [sliceColumn("faults", slices.faults, count),
                     sliceColumn("again", slices.refaults, count)]);
}

/* What is drawn below the line: when memory is freed, all of it leaves at once, beside which nothing
 * else would be seen. */
function outLimit() {
    const sorted = slices.bytes_out.slice().sort(d3.ascending);
    const usual = Math.max(1.2 * d3.quantile(sorted, 0.97), d3.max(slices.bytes_in));
    return Math.min(sorted[sorted.length - 1], usual);
}

function showBytes(readout) {
    const box = section("Bytes in and out", "Above the line what arrived on the devices, below it " +
                        "what left them.");
    key(box, [["var(--first)", "in, first time"], ["var(--again)", "in, came back"],
              ["var(--out)", "out"]]);
    const height = 170;
    overTime(box, "Bytes in and out over time", height, readout, (svg, width, x) => {
        const most = outLimit();
        const y = d3.scale.linear().range([height, 6]).clamp(true)
            .domain([-most, d3.max(slices.bytes_in) || 1]);
        byteAxis(svg, y, margin.left, width - margin.left - margin.right, 6);
        area(svg, x, y, () => 0, i => slices.bytes_back[i], "var(--again)");
        area(svg, x, y, i => slices.bytes_back[i], i => slices.bytes_in[i], "var(--first)");
        area(svg, x, y, i => -slices.bytes_out[i], () => 0, "var(--out)");
        const cutOff = d3.range(slices.bytes_out.length).filter(i => slices.bytes_out[i] > most);
        svg.append("g").selectAll("text").data(cutOff.slice(-3)).enter().append("text")
            .attr({x: i => Math.min(x(i * head.slice_ns), width - margin.right) - 4, y: height - 4,
                   "text-anchor": "end"}).text(i => "to " + size(slices.bytes_out[i]));
    });
    sliceTable(box, [sliceColumn("in", slices.bytes_in, size),
                     sliceColumn("of it came back", slices.bytes_back, size),
                     sliceColumn("out", slices.bytes_out, size)]);
}

function showHeld(readout) {
    const all = head.memory * Math.max(1, head.devices);
    const box = section("Resident and working set", "Resident: the most that the devices held at " +
                        "a time. Working set: different pages that arrived, faulted or were " +
                        "seen to be accessed in that time; what stays and is used is not seen " +
                        "in a trace of faults.");
    key(box, [["var(--held)", "resident"], ["var(--used)", "working set"]]
        .concat(all ? [["var(--ink)", "device memory (dashed)"]] : []));
    const height = 140;
    overTime(box, "Resident bytes and working set over time", height, readout, (svg, width, x) => {
        const most = Math.max(d3.max(slices.held), d3.max(slices.used), all || 0, 1);
        const y = d3.scale.linear().domain([0, most]).range([height, 6]);
        byteAxis(svg, y, margin.left, width - margin.left - margin.right, 4);
        area(svg, x, y, () => 0, i => slices.held[i], "var(--held)");
        const line = d3.svg.line().interpolate("step-after")
            .x((d, i) => x(i * head.slice_ns)).y(y);
        svg.append("path").attr("d", line(slices.used))
            .style({fill: "none", stroke: "var(--used)", "stroke-width": 1.5});
        if (all)
            svg.append("line").attr({class: "limit", x1: margin.left, x2: width - margin.right,
                                     y1: y(all), y2: y(all)});
    });
    sliceTable(box, [sliceColumn("resident", slices.held, size),
                     sliceColumn("working set", slices.used, size)]);
}

/* ---- the heat map ---- */

const mapNames = {faults: "faults", pages: "pages that arrived", uses: "accesses"};
const level = cell => parseInt(cell, 36);
const levelText = n => n === 0 ? "none" : n === 1 ? "1"
    : count(Math.pow(2, n - 1)) + " – " + count(Math.pow(2, n) - 1);

const bufferName = b => b.buffer === null ? count(b.count) + " others" : "buffer " + b.buffer;

/* From one row of the map to the colours of its cells, as one small picture. */
function mapImage(rows, most) {
    const canvas = document.createElement("canvas");
    canvas.width = rows[0].length;
    canvas.height = rows.length;
    const context = canvas.getContext("2d");
    const colour = heatColour(most);
    rows.forEach((line, y) => {
        for (let x = 0; x < line.length; x++) {
            if (line[x] === "0")
                continue;
            context.fillStyle = colour(level(line[x]));
            context.fillRect(x, y, 1, 1);
        }
    });
    return canvas.toDataURL();
}

const dark = window.matchMedia("screen and (prefers-color-scheme: dark)");

function heatColour(most) {
    const colours = dark.matches ? ["#24384a", "#2f74b5", "#f28a3c", "#ffe9a8"]
                                 : ["#dce9f5", "#5ba4d8", "#d55e00", "#5a1a00"];
    return d3.scale.linear().domain([1, 1 + (most - 1) / 3, 1 + 2 * (most - 1) / 3, most + 0.001])
        .range(colours).clamp(true);
}

/* The places of buffers along the map, of those that are high enough to be named. */
function bufferMarks(svg, height, rows) {
    let free = -20;
    data.buffers.filter(b => b.buffer !== null && b.bytes > 0)
        .map(b => ({b: b, y: b.first_block / head.blocks_a_row / rows * height}))
        .sort((a, b) => a.y - b.y).forEach(mark => {
            svg.append("line").attr({class: "row", x1: margin.left - 5, x2: margin.left,
                                     y1: mark.y, y2: mark.y});
            if (mark.y < free + 13)
                return;
            free = mark.y;
            svg.append("text").attr({x: margin.left - 8, y: Math.min(mark.y + 11, height),
                                     "text-anchor": "end", class: "faint"})
                .text((margin.left > 100 ? "buffer " : "#") + mark.b.buffer);
        });
}

function mapKey(box, most) {
    const colour = heatColour(most);
    const shown = d3.range(1, most + 1, Math.max(1, Math.ceil(most / 7)));
    key(box, shown.map(n => [colour(n), levelText(n)]));
}

function rowName(row) {
    const from = row * head.blocks_a_row;
    const here = data.buffers.filter(b => b.buffer !== null &&
        b.first_block < from + head.blocks_a_row &&
        b.first_block + Math.ceil(b.bytes / 2097152) > from);
    return here.length === 0 ? "small buffers"
        : bufferName(here[0]) + (here.length > 1 ? " and " + (here.length - 1) + " more" : "");
}

function showMap(readout) {
    const names = Object.keys(data.maps);
    if (names.length === 0)
        return;
    const box = section("Where in memory", "Each line is " +
                        size(head.blocks_a_row * 2097152) + " of a buffer, each column " +
                        time(head.slice_ns) + ". Buffers lie one below another.");
    const choice = box.append("div").attr("class", "choice");
    const holder = box.append("div");
    let chosen = names[0];
    function draw() {
        const rows = data.maps[chosen], height = Math.max(60, Math.min(440, rows.length * 6));
        const most = d3.max(rows, line => d3.max(line.split(""), level));
        const others = redraws.length;
        holder.html("");
        mapKey(holder, most);
        overTime(holder, "Heat map of " + mapNames[chosen] + " by buffer over time", height,
                 readout, (svg, width, x) => {
            svg.append("rect").attr({x: margin.left, width: x.range()[1] - margin.left, y: 0,
                                     height: height}).style("fill", "var(--panel)");
            svg.append("image").attr({x: margin.left, y: 0, height: height,
                                      width: x(rows[0].length * head.slice_ns) - margin.left,
                                      preserveAspectRatio: "none",
                                      "xlink:href": mapImage(rows, most)})
                .style("image-rendering", "pixelated");
            bufferMarks(svg, height, rows.length);
            const tip = svg.append("title");
            svg.on("mousemove.map", function () {
                const at = d3.mouse(this);
                const row = Math.floor(at[1] / height * rows.length);
                const column = Math.floor(x.invert(at[0]) / head.slice_ns);
                if (rows[row] && rows[row][column])
                    tip.text(rowName(row) + ": " + levelText(level(rows[row][column])) + " " +
                             mapNames[chosen]);
            });
        });
        tableBehind(holder, [
            {name: "line", get: r => r, show: count},
            {name: "what", get: rowName, text: true},
            {name: "slices with any", get: r => rows[r].replace(/0/g, "").length, show: count},
            {name: "most in a slice", get: r => d3.max(rows[r].split(""), level), show: levelText},
        ], d3.range(rows.length));
        redraws.length = others; // all of it is drawn again by draw()
        choice.selectAll("button").attr("aria-pressed", name => String(name === chosen));
    }
    choice.selectAll("button").data(names).enter().append("button").attr("type", "button")
        .text(name => mapNames[name]).on("click", name => {
            chosen = name;
            redrawAll();
        });
    redraws.push(draw);
    draw();
}

/* ---- distances ---- */

function showDistances() {
    const used = data.distances.map((d, i) => ({low: i ? data.distances[i - 1][0] : 0, high: d[0],
                                                bytes: d[1]}));
    const first = used.findIndex(d => d.bytes > 0);
    if (first < 0)
        return;
    const box = section("How soon memory comes back", "Of what came back: how much had left " +
                        "between. With that much more memory it would have stayed, if " +
                        "evictions kept their order.");
    let last = used.length - 1;
    while (used[last].bytes === 0)
        last--;
    const bins = used.slice(Math.max(0, first - 1), last + 2), height = 150;
    const total = d3.sum(bins, d => d.bytes);
    picture(box, "Histogram of refault distances", height + 40, (svg, width) => {
        const x = d3.scale.ordinal().domain(d3.range(bins.length))
            .rangeBands([margin.left, width - margin.right], 0.15);
        const y = d3.scale.linear().domain([0, d3.max(bins, d => d.bytes)]).range([height, 16]);
        byteAxis(svg, y, margin.left, width - margin.left - margin.right, 4);
        const bar = svg.selectAll(".bin").data(bins).enter().append("g");
        bar.append("rect").attr({x: (d, i) => x(i), width: x.rangeBand(), y: d => y(d.bytes),
                                 height: d => height - y(d.bytes)}).style("fill", "var(--again)");
        bar.append("title").text(d => size(d.low) + " to " + size(d.high) + ": " + size(d.bytes));
        bar.filter(d => d.bytes > 0 && x.rangeBand() > 28).append("text")
            .attr({x: d => x(bins.indexOf(d)) + x.rangeBand() / 2, y: d => y(d.bytes) - 4,
                   "text-anchor": "middle"}).text(d => percent(d.bytes, total));
        const every = Math.ceil(58 / x.rangeBand());
        bar.filter((d, i) => i % every === 0).append("text")
            .attr({x: d => x(bins.indexOf(d)) + x.rangeBand() / 2, y: height + 16,
                   "text-anchor": "middle"}).text(d => "< " + size(d.high));
        svg.append("text").attr({class: "faint", x: width - margin.right, y: height + 34,
                                 "text-anchor": "end"}).text("left between");
    });
    tableBehind(box, [{name: "left between, from", get: d => d.low, show: size},
                      {name: "to", get: d => d.high, show: size},
                      {name: "came back", get: d => d.bytes, show: size},
                      {name: "share", get: d => d.bytes, show: b => percent(b, total)}], bins);
}

/* ---- tables of a recorded run ---- */

const moved = [
    {name: "faults", get: r => r.faults, show: count},
    {name: "again", get: r => r.refaults, show: count},
    {name: "in", get: r => r.bytes_in, show: size},
    {name: "of it came back", get: r => r.bytes_back, show: size},
    {name: "out", get: r => r.bytes_out, show: size},
    {name: "times in a launch", get: r => r.bytes_once ? r.bytes_in / r.bytes_once : null,
     show: ratio},
];

function showTables() {
    const kernels = section("By kernel", "What moved while it ran. Times in a launch: how often " +
                            "a page that a launch brought in came in during that launch.");
    table(kernels, [
        {name: "kernel", get: k => k.name || count(k.count) + " others", text: true},
        {name: "launches", get: k => k.launches, show: count},
        {name: "time", get: k => k.ns, show: time},
    ].concat(moved), data.kernels);
    const buffers = section("By buffer", "A number that is used again after its buffer was freed " +
                            "counts as the same buffer.");
    table(buffers, [
        {name: "buffer", get: bufferName, text: true},
        {name: "size", get: b => b.bytes, show: size},
        {name: "allocated", get: b => b.allocations, show: count},
    ].concat(moved, [{name: "first used by", get: b => b.first_kernel, text: true}]), data.buffers);
}

function showTrace() {
    showHead();
    showTips();
    const hint = "Point at a chart, or reach it with Tab and use the arrow keys.";
    const readout = main.append("div").attr({class: "readout", role: "status", "data-hint": hint})
        .text(hint);
    if (data.bars.length > 0)
        showLaunches(readout);
    if (head.faults > 0)
        showFaults(readout);
    if (head.bytes_in > 0 || head.bytes_out > 0)
        showBytes(readout);
    showHeld(readout);
    showMap(readout);
    showDistances();
    showTables();
}

/* ---- results of a command ---- */

const knows = (runs, member) => runs.some(r => typeof r[member] === "number");

/* Bars of one measure, a line a run; low and high make an interval, part is a share of the bar that
 * stands out, marks are lines across. */
function barChart(box, label, runs, measure) {
    const row = 24, height = runs.length * row, left = 120;
    const high = r => Math.max(measure.get(r) || 0, (measure.high && measure.high(r)) || 0);
    const note = r => measure.show(measure.get(r)) + (measure.note ? measure.note(r) : "");
    const room = 14 + 6.6 * d3.max(runs, r => typeof measure.get(r) === "number" ? note(r).length : 0);
    picture(box, label, height + 28, (svg, width) => {
        const x = d3.scale.linear().domain([0, Math.max(d3.max(runs, high) * 1.02, measure.line || 0) || 1])
            .range([left, Math.max(left + 60, width - room)]);
        axis(svg, x, "bottom", 0, height, Math.max(2, Math.round(width / 150)), measure.tick,
             height);
        runs.forEach((r, i) => {
            const y = i * row, value = measure.get(r);
            svg.append("text").attr({x: left - 6, y: y + 16, "text-anchor": "end"})
                .text(cut(plain(r.system), left - 8)).append("title").text(plain(r.system));
            if (typeof value !== "number") {
                svg.append("text").attr({x: left + 6, y: y + 16, class: "faint"})
                    .text(cut(r.reason || "not known", width - left - 10));
                return;
            }
            svg.append("rect").attr({x: left, y: y + 4, height: row - 8, width: x(value) - left})
                .style("fill", "var(--first)").append("title").text(note(r));
            if (measure.part && measure.part(r) > 0)
                svg.append("rect").attr({x: left, y: y + 4, height: row - 8,
                                         width: x(measure.part(r)) - left})
                    .style("fill", measure.fill).append("title").text(note(r));
            if (measure.low && measure.low(r) < measure.high(r))
                svg.append("path").attr({class: "interval", d: "M" + x(measure.low(r)) + "," +
                    (y + 12) + "H" + x(measure.high(r)) + "M" + x(measure.low(r)) + "," + (y + 8) +
                    "v8M" + x(measure.high(r)) + "," + (y + 8) + "v8"});
            svg.append("text").attr({x: x(high(r)) + 6, y: y + 16}).text(note(r));
        });
        const marks = measure.marks ? measure.marks(runs) : measure.line ? [measure.line] : [];
        marks.forEach(at => svg.append("line").attr({class: "limit", x1: x(at), x2: x(at),
                                                     y1: 0, y2: height}));
    });
}

const seconds = s => time(s * 1e9);
const ofBound = r => r.of_bound ? ", " + Math.round(100 * r.of_bound) + " % of bound" : "";
const boundsOf = (runs, get) => {
    const bounded = runs.filter(r => r.of_bound);
    return bounded.length > 0 ? [get(bounded[0])] : [];
};
const inSeconds = {get: r => r.seconds, show: seconds, tick: seconds, note: ofBound,
                   low: r => r.min, high: r => r.max,
                   fill: "var(--again)", part: r => r.stall_ns ? Math.min(r.seconds, r.stall_ns / 1e9) : 0,
                   marks: runs => boundsOf(runs, r => r.of_bound * r.seconds)};
const inBytes = {get: r => r.bytes_in + r.bytes_out, show: size, tick: size,
                 note: r => r.bytes_bound ? ", " + ((r.bytes_in + r.bytes_out) / r.bytes_bound)
                     .toFixed(1) + "x bound" : "",
                 fill: "var(--out)", part: r => r.bytes_out, marks: runs => boundsOf(runs, r => r.bytes_bound)};
const inFaults = {get: r => r.faults, show: count, tick: short};
const paired = {get: r => r.paired ? r.paired.ratio : null, show: ratio, tick: times, line: 1,
                low: r => r.paired ? r.paired.low : null,
                high: r => r.paired ? r.paired.high : null};

function showResultsHead() {
    const box = d3.select("#head"), machine = data.machine || {};
    const subjects = d3.set(data.runs.map(r => r.subject)).values();
    document.title = subjects[0] + " – farfault report";
    box.append("p").attr("class", "note").text("farfault report of " + data.file);
    box.append("h1").text("farfault " + data.command + ": " + subjects.slice(0, 4).join(", ") +
                          (subjects.length > 4 ? " and " + (subjects.length - 4) + " more" : ""));
    if (machine.cpu)
        box.append("p").text([machine.cpu, plural(machine.cpus, "CPU"), size(machine.memory),
                              "Linux " + machine.kernel].join(", ") + ".");
    if (data.good === false)
        box.append("p").attr("class", "bad").text("Not all is good: " + plain(data.reason));
    const r = data.runs[0];
    if (data.runs.length > 1)
        return;
    tiles(box, [
        ["time", optional(seconds)(r.seconds), r.launches ? count(r.launches) + " launches" : ""],
        ["footprint", size(r.footprint)],
        ["device memory", optional(size)(r.memory),
         r.memory ? percent(r.memory, r.footprint) + " of the footprint" : ""],
        ["faults", optional(short)(r.faults),
         r.refaults === undefined ? "" : percent(r.refaults, r.faults) + " again"],
        ["came in", optional(size)(r.bytes_in)],
        ["left", optional(size)(r.bytes_out)],
    ]);
}

/* A section with a chart of one measure for each subject, on each device. */
function showGroups(title, text, measure) {
    const devices = d3.set(data.runs.map(r => plain(r.device))).size();
    const groups = d3.nest().key(r => r.subject + (devices > 1 ? ", " + plain(r.device) : ""))
        .entries(data.runs.filter(r => typeof r.seconds === "number" || measure === inSeconds));
    const box = section(title, text);
    groups.forEach(group => {
        if (groups.length > 1)
            box.append("h3").text(group.key);
        barChart(box, group.key + ": " + title, withShares(group.values), measure);
    });
    return box;
}

const runColumns = [
    {name: "subject", get: r => r.subject, text: true},
    {name: "system", get: r => r.system, text: true},
    {name: "memory", get: r => r.memory, show: optional(size)},
    {name: "share", get: r => r.share, show: plain},
];

function showTimes() {
    const timed = knows(data.runs, "seconds");
    const notes = [];
    const waits = timed && knows(data.runs, "stall_ns");
    if (data.runs.some(r => r.runs > 1))
        notes.push("Bars are medians; lines go from the fastest to the slowest run.");
    if (knows(data.runs, "of_bound"))
        notes.push("Dashed: the lower bound, and how much of a run's time it is.");
    const box = showGroups(timed ? "Time by system" : "Faults by system", notes.join(" "),
                           timed ? inSeconds : inFaults);
    if (waits)
        key(box, [["var(--again)", "kernels wait for memory"], ["var(--first)", "all else"]]);
    tableBehind(box, runColumns.concat([
        {name: "time", get: r => r.seconds, show: optional(seconds)},
        {name: "from", get: r => r.min, show: optional(seconds)},
        {name: "to", get: r => r.max, show: optional(seconds)},
        {name: "of the bound", get: r => r.of_bound, show: optional(p => percent(p, 1))},
        {name: "faults", get: r => r.faults, show: optional(count)},
    ]), data.runs.slice());
}

function showMoved() {
    if (!data.runs.some(r => r.bytes_in + r.bytes_out > 0))
        return;
    const box = showGroups("Bytes moved by system", knows(data.runs, "bytes_bound")
        ? "Dashed: the lower bound." : "", inBytes);
    key(box, [["var(--out)", "out"], ["var(--first)", "in"]]);
    tableBehind(box, runColumns.concat([
        {name: "in", get: r => r.bytes_in, show: optional(size)},
        {name: "out", get: r => r.bytes_out, show: optional(size)},
        {name: "lower bound of both", get: r => r.bytes_bound, show: optional(size)},
    ]), data.runs.slice());
}

/* Where there are several sizes of memory, systems are told apart by them. */
function withShares(rows) {
    const several = d3.set(rows.map(r => r.share).filter(Boolean)).size() > 1;
    return rows.map(r => several && r.share
        ? Object.assign({}, r, {system: r.system + " " + r.share}) : r);
}

function showMeans() {
    const means = withShares(data.means.filter(m => m.paired));
    if (means.length > 0) {
        const box = section("Time over that of " + means[0].paired.to, "Below 1 is faster. Means of "
            + "the ratios of runs in the same turn, with 95 % intervals.");
        barChart(box, "Ratios to the first system", means, paired);
        tableBehind(box, [{name: "system", get: m => m.system, text: true},
                          {name: "ratio", get: m => m.paired.ratio, show: ratio},
                          {name: "from", get: m => m.paired.low, show: ratio},
                          {name: "to", get: m => m.paired.high, show: ratio}], means);
    } else if (knows(data.means, "slowdown") && data.runs.length > 3) {
        const box = section("Slowdown by system", "Time over that of in-memory, which has "
            + "all data in device memory: geometric means over all subjects.");
        const rows = withShares(data.means);
        barChart(box, "Means by system", rows,
                 {get: m => m.slowdown, show: ratio, tick: times, line: 1});
        tableBehind(box, [{name: "system", get: m => m.system, text: true},
                          {name: "slowdown", get: m => m.slowdown, show: ratio}], rows);
    }
}

function showRuns() {
    const reasons = data.runs.some(r => r.reason);
    table(section("All runs"), runColumns.concat([
        {name: "time", get: r => r.seconds, show: optional(seconds)},
        {name: "x in-memory", get: r => r.slowdown, show: ratio},
        {name: "faults", get: r => r.faults, show: optional(count)},
        {name: "in", get: r => r.bytes_in, show: optional(size)},
        {name: "out", get: r => r.bytes_out, show: optional(size)},
        {name: "hit rate", get: r => r.hit_rate,
         show: optional(h => (100 * h).toFixed(1) + " %")},
    ], reasons ? [{name: "reason", get: r => r.reason, text: true}] : []), data.runs);
}

const summaryMoved = [
    {name: "launches", get: r => r.launches, show: optional(count)},
    {name: "faults", get: r => r.faults, show: optional(count)},
    {name: "again", get: r => r.refaults, show: optional(count)},
    {name: "in", get: r => r.bytes_in, show: optional(size)},
    {name: "out", get: r => r.bytes_out, show: optional(size)},
    {name: "stall", get: r => r.stall_ns, show: optional(time)},
];

function part(box, title) {
    box.append("h2").text(title);
    return box;
}

/* What the summary of a run has. */
function showSummary(box, run) {
    if (run.tip)
        part(box, "What this run shows").append("ul").attr("class", "tips").append("li")
            .text(run.tip);
    if (run.kernels && run.kernels.length > 0)
        table(part(box, "By kernel"), [
            {name: "kernel", get: k => k.name || count(k.count) + " others", text: true},
        ].concat(summaryMoved), run.kernels);
    if (run.buffers && run.buffers.length > 0)
        table(part(box, "By buffer"), [
            {name: "buffer", get: b => b.name || count(b.count) + " others", text: true},
            {name: "size", get: b => b.size, show: optional(size)},
        ].concat(summaryMoved, [{name: "first used by", get: b => b.first_kernel, text: true}]),
            run.buffers);
    if (run.places && run.places.length > 0)
        table(part(box, "Where in the code"), [
            {name: "function", get: p => p.function || "(without a name)", text: true},
            {name: "share of faults", get: p => p.share, show: s => Math.round(100 * s) + " %"},
            {name: "object", get: p => p.object, text: true},
        ], run.places);
}

function showSummaries() {
    data.runs.filter(run => run.kernels && run.kernels.length > 0).forEach(run => {
        const details = main.append("details");
        details.append("summary").text(run.subject + " under " + run.system);
        showSummary(details, run);
    });
}

function showResults() {
    showResultsHead();
    if (data.runs.length === 1)
        return showSummary(main.append("section"), data.runs[0]);
    showTips();
    showTimes();
    showMeans();
    showMoved();
    showRuns();
    showSummaries();
}

/* ---- all ---- */

fitMargin();
(data.kind === "trace" ? showTrace : showResults)();
d3.select("#foot").append("p").text("Made by farfault " + data.farfault + ".");

function redrawAll() {
    cursors.length = 0;
    fitMargin();
    redraws.forEach(redraw => redraw());
}

let waiting = null;
window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redrawAll, 100);
});
dark.addListener(redrawAll);

/* On paper in its colours and width. */
window.addEventListener("beforeprint", redrawAll);
window.addEventListener("afterprint", redrawAll);

})();
