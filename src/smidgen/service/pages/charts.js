// Charts in SVG: lines with bands, columns, bars. The style sheet colors them, so a change of theme needs no new drawing.
import { h, middle, svg } from "./dom.js";

const drawn = new WeakMap(); // what each element shows
const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => lay(target)));
const pen = document.createElement("canvas").getContext("2d");
const [TEXT, NAME, TOP, RIGHT] = [11.5, 12, 10, 14];

function wide(text, size = TEXT) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// As much of a text as there is room for, cut in the middle.
function fitted(text, room, size) {
  let [least, most] = [3, text.length];
  while (least < most) {
    const length = (least + most + 1) >> 1;
    if (wide(middle(text, length), size) <= room) least = length;
    else most = length - 1;
  }
  return middle(text, least);
}

// Round numbers from one end to the other, about so many; whole ones where there are no others.
export function ticks(from, to, count, whole = false) {
  const raw = Math.max((to - from) / Math.max(1, count), whole ? 1 : 1e-300);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= 0.95 * raw);
  const found = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k += 1) found.push(+(k * step).toPrecision(12));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { step, digits, values: found };
}

export function tickLabel(value, { digits }, share) {
  const size = Math.abs(value);
  const text = value === 0 && !share ? "0" : share ? `${(100 * value).toFixed(Math.max(0, digits - 2))}%`
    : size >= 1e6 ? value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 })
      : digits > 5 ? value.toExponential(1) : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace("-", "−");
}

const scale = (from, to, start, end) => (value) => start + ((Math.min(Math.max(value, Math.min(from, to)), Math.max(from, to)) - from) / (to - from || 1)) * (end - start);
const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });
const words = (kind, x, y, text, anchor = "middle") => svg("text", { class: kind, x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, text);
const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// The ends of an axis: what is asked for, else what the values need, with some air, but not beyond the range of the figure.
function ends({ from, to, tozero, within }, values) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const air = 0.06 * (high - low || Math.abs(high) || 1);
  [low, high] = [low - air, high + air];
  if (tozero) [low, high] = [Math.min(0, low + air), Math.max(0, high)];
  if (within) [low, high] = [Math.max(low, within[0]), Math.min(high, within[1] + 0.02 * (within[1] - within[0]))];
  return [from ?? low, to ?? high];
}

// The frame of a chart: the vertical axis with its grid, and where things go.
function frame(image, size, axis, values, below) {
  const [from, to] = ends(axis, values);
  const bottom = size.height - below;
  const marks = ticks(Math.min(from, to), Math.max(from, to), Math.max(2, Math.min(axis.count ?? 5, Math.floor(bottom / 26))), axis.whole);
  const labels = marks.values.map((value) => tickLabel(value, marks, axis.share));
  const left = Math.max(...labels.map((text) => wide(text)), 12) + 10 + (axis.title ? 18 : 0);
  const y = scale(from, to, bottom, TOP);
  marks.values.forEach((value, i) => image.append(line("grid", left, y(value), size.width - RIGHT, y(value)), words("tick tick-y", left - 6, y(value) + 4, labels[i], "end")));
  image.append(line("axis", left, TOP, left, bottom));
  if (axis.title) image.append(svg("text", { class: "title", transform: `translate(11 ${(TOP + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, axis.title));
  return { left, right: size.width - RIGHT, bottom, y };
}

// Steps of an axis of time, in seconds, and how their marks are written.
const [HOUR, DAY] = [3600, 86400];
const TIMES = [1, 5, 15, 60, 300, 900, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY, 91 * DAY, 364 * DAY, 3640 * DAY];

function timeLabel(ms, step) {
  const then = new Date(ms);
  if (step >= DAY) return then.toLocaleDateString("en", { day: "numeric", month: "short", ...(step >= 91 * DAY ? { year: "numeric" } : {}) });
  return then.toLocaleTimeString("en-GB", step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
}

// The horizontal axis, of times in milliseconds: round ones of the reader's own clock.
function acrossTime(image, { left, right, bottom }, from, to) {
  const count = Math.max(1, Math.floor((right - left) / 92));
  const step = 1000 * (TIMES.find((size) => (to - from) / 1000 / size <= count + 1) ?? TIMES.at(-1));
  const shift = 60000 * new Date(from).getTimezoneOffset();
  const x = scale(from, to, left, right);
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) {
    image.append(words("tick tick-x", x(at), bottom + 15, timeLabel(at, step / 1000)));
  }
  return x;
}

// The horizontal axis, of numbers.
function across(image, { left, right, bottom }, axis, from, to, grid) {
  const longest = Math.max(...[from, to].map((value) => wide(tickLabel(value, ticks(from, to, 5, axis.whole))))) + 18;
  const marks = ticks(from, to, Math.max(1, Math.min(axis.count ?? 6, Math.floor((right - left) / longest))), axis.whole);
  const x = scale(from, to, left, right);
  for (const value of marks.values) {
    if (grid) image.append(line("grid", x(value), TOP, x(value), bottom));
    image.append(words("tick tick-x", x(value), bottom + 15, tickLabel(value, marks)));
  }
  if (axis.title) image.append(words("title", (left + right) / 2, bottom + 33, axis.title));
  return x;
}

// Neighbours among some places for which something holds, two or more at a time.
function runs(places, holds) {
  const found = [];
  places.forEach((place, n) => { if (holds(place)) (n && holds(places[n - 1]) ? found.at(-1) : found[found.push([]) - 1]).push(place); });
  return found.filter((run) => run.length > 1);
}

// `picture.at` has the places along x, each of `picture.lines` values there, perhaps with low and high.
function lines(image, size, picture) {
  const { at, x: below, y: vertical } = picture;
  const values = picture.lines.flatMap((each) => [...each.values, ...(each.low ?? []), ...(each.high ?? [])]).filter(Number.isFinite);
  const room = frame(image, size, vertical, values, below.title ? 42 : 24);
  image.append(line("axis", room.left, room.bottom, room.right, room.bottom));
  const [from, to] = [below.from ?? Math.min(...at), Math.max(...at)];
  const margin = 0.02 * (to - from || 1);
  const x = below.time ? acrossTime(image, room, from - margin, to + margin)
    : across(image, room, below, below.from === undefined ? from - margin : from, to + margin);
  for (const each of picture.lines) {
    const group = svg("g", { class: `series ${each.colour}` });
    const there = at.map((_, i) => i).filter((i) => Number.isFinite(each.values[i]));
    const points = (of) => there.map((i) => [x(at[i]), room.y(of[i])]);
    for (const run of each.low ? runs(there, (i) => Number.isFinite(each.low[i]) && Number.isFinite(each.high[i])) : []) {
      const edge = (of) => run.map((i) => [x(at[i]), room.y(of[i])]);
      group.append(svg("path", { class: "band", d: `${path(edge(each.high))}${path(edge(each.low).reverse()).replace("M", "L")}Z` }));
    }
    if (there.length > 1) group.append(svg("path", { class: `line ${each.stroke ?? ""}`, d: path(points(each.values)) }));
    if (each.dots || there.length === 1) group.append(...points(each.values).map(([cx, cy]) => svg("circle", { class: "dot", cx: cx.toFixed(1), cy: cy.toFixed(1), r: 3 })));
    image.append(group);
  }
  for (const event of picture.events ?? []) {
    if (!(event.at >= from - margin && event.at <= to + margin)) continue;
    const mark = line("event", x(event.at), TOP, x(event.at), room.bottom);
    if (event.text) mark.append(svg("title", {}, event.text));
    image.append(mark);
  }
  const mark = (i) => [line("guide", x(at[i]), TOP, x(at[i]), room.bottom),
    ...picture.lines.filter((each) => Number.isFinite(each.values[i])).map((each) => svg("circle", { class: `dot ${each.colour}`, cx: x(at[i]), cy: room.y(each.values[i]), r: 5 }))];
  const top = (i) => Math.min(...picture.lines.map((each) => each.values[i]).filter(Number.isFinite).map(room.y));
  return { places: at.map((value, i) => [x(value), top(i)]), along: 0, mark };
}

// How many there are of each of some names.
function columns(image, size, { names, values, y: vertical }) {
  const room = frame(image, size, { tozero: true, ...vertical }, [0, ...values], 24);
  const slot = (room.right - room.left) / names.length;
  const every = Math.ceil((Math.max(...names.map((name) => wide(name))) + 8) / slot);
  image.append(line("axis", room.left, room.bottom, room.right, room.bottom));
  const middle = (i) => room.left + (i + 0.5) * slot;
  names.forEach((name, i) => {
    const [top, width] = [room.y(values[i]), 0.65 * slot];
    const round = Math.min(5, (room.bottom - top) / 2);
    if (values[i]) image.append(svg("path", { class: "column", d: `M${middle(i) - width / 2} ${room.bottom}V${top + round}q0 ${-round} ${round} ${-round}H${middle(i) + width / 2 - round}q${round} 0 ${round} ${round}V${room.bottom}Z` }));
    if (i % every === 0) image.append(words("tick tick-x", middle(i), room.bottom + 15, name));
  });
  return { places: names.map((_, i) => [middle(i), room.y(values[i])]), along: 0, mark: (i) => [line("guide", middle(i), TOP, middle(i), room.bottom)] };
}

// Named numbers on both sides of zero; a name may have several lines.
function bars(image, size, { names, values, x: below = {} }) {
  const most = 0.45 * size.width;
  const fit = names.map((parts) => parts.map((part) => fitted(part, most, NAME)));
  const left = Math.max(...fit.flat().map((part) => wide(part, NAME)), 10) + 16;
  const room = { left, right: size.width - RIGHT, bottom: size.height - 24 };
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const air = 0.05 * (high - low || 1);
  const x = across(image, room, { count: 5, ...below }, low < 0 ? low - air : 0, high > 0 ? high + air : 0, true);
  const heights = names.map((parts) => 16 + 10 * parts.length);
  const unit = (room.bottom - TOP) / heights.reduce((sum, height) => sum + height, 0);
  const thick = Math.min(21, 15 * unit);
  let top = TOP;
  const middles = heights.map((height) => { const middle = top + (unit * height) / 2; top += unit * height; return middle; });
  values.forEach((value, i) => {
    image.append(svg("rect", { class: `bar ${value > 0 ? "accent" : "second"}`, x: Math.min(x(0), x(value)), y: middles[i] - thick / 2, width: Math.max(1, Math.abs(x(value) - x(0))), height: thick, rx: Math.min(4, thick / 2) }));
    image.append(svg("text", { class: "name tick-y", "text-anchor": "end" }, ...fit[i].map((part, k) => svg("tspan", { x: left - 8, y: (middles[i] + 4 + 13 * (k - (fit[i].length - 1) / 2)).toFixed(1) }, part))));
  });
  image.append(line("zero", x(0), TOP, x(0), room.bottom));
  return { places: values.map((value, i) => [x(value), middles[i]]), along: 1, mark: (i) => [svg("rect", { class: "guide", x: room.left, y: middles[i] - 11, width: room.right - room.left, height: 22, rx: 4 })] };
}

const KINDS = { lines, columns, bars };

function lay(element) {
  const shown = drawn.get(element);
  const size = { width: element.clientWidth, height: element.clientHeight };
  if (!shown || !size.width || !size.height) return;
  const image = svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" });
  const marks = svg("g", { class: "marks" });
  Object.assign(shown, KINDS[shown.picture.kind](image, size, shown.picture), { marks });
  image.append(marks);
  element.querySelector("svg")?.remove();
  element.prepend(image);
  read(element, shown.at, shown.live);
}

// Read the i-th value out: next to the pointer, or, by the keyboard, to a screen reader as well.
function read(element, i, live = false) {
  const shown = drawn.get(element);
  const { places, mark, marks, picture, reading } = shown;
  [shown.at, shown.live] = [i >= 0 && i < places.length ? i : -1, live];
  reading.hidden = shown.at < 0;
  marks.replaceChildren(...(shown.at < 0 ? [] : mark(i)));
  if (shown.at < 0) return;
  reading.setAttribute("aria-live", live ? "polite" : "off");
  reading.replaceChildren(...picture.read(i).map(([text, figure]) => h("div", {}, text, " ", h("b", {}, figure))));
  const [[x, y], width, height] = [places[i], reading.offsetWidth, reading.offsetHeight];
  reading.style.left = `${Math.max(0, Math.min(x - width / 2, element.clientWidth - width))}px`;
  reading.style.top = `${y - height - 14 >= -TOP ? y - height - 14 : Math.min(y + 14, element.clientHeight - height)}px`;
}

function nearest({ places, along }, point) {
  const away = (i) => Math.abs(places[i][along] - point[along]);
  return places.reduce((best, _, i) => (best < 0 || away(i) < away(best) ? i : best), -1);
}

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

function follow(element) {
  const shown = drawn.get(element);
  const point = (event) => {
    const box = element.getBoundingClientRect();
    if (shown.places) read(element, nearest(shown, [event.clientX - box.left, event.clientY - box.top]));
  };
  element.addEventListener("pointermove", point);
  element.addEventListener("pointerdown", point);
  for (const away of ["pointerleave", "blur"]) element.addEventListener(away, () => { if (shown.places) read(element, -1); });
  element.addEventListener("keydown", (event) => {
    if (!shown.places || !(event.key in STEPS || event.key === "Escape")) return;
    event.preventDefault();
    const last = shown.places.length - 1;
    const step = STEPS[event.key];
    read(element, step === undefined ? -1 : Math.max(0, Math.min(last, shown.at + (shown.at < 0 && step === -1 ? last + 1 : step))), true);
  });
}

export function draw(element, picture) {
  let shown = drawn.get(element);
  if (!shown) {
    shown = { at: -1, reading: h("div", { class: "reading", role: "status", hidden: true }) };
    drawn.set(element, shown);
    element.append(shown.reading);
    follow(element);
    watch.observe(element);
  }
  shown.picture = picture;
  lay(element);
}
