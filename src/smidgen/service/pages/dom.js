// Elements and words.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "disabled" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const by = (id) => document.getElementById(id);

export function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function announce(text) {
  by("announce").textContent = text;
}

// A long text keeps its beginning and its end: ids often differ in their last letters.
export function middle(text, most = 36) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

export const whole = (n) => Math.round(n).toLocaleString("en");
export const percent = (x) => `${x < 1 && x > 0.9995 ? "99.9" : +(100 * x).toFixed(1)} %`;
export const short = (x) => (Math.abs(x) >= 1000 || (x !== 0 && Math.abs(x) < 0.001) ? x.toExponential(1) : String(+x.toPrecision(3)));

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.95) return `${Math.max(1, Math.round(1000 * seconds))} ms`;
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${+(seconds / size).toPrecision(2)} ${unit}`;
  }
  return `${+seconds.toPrecision(2)} s`;
}

export function clock(iso) {
  const then = new Date(iso);
  const day = new Date().toDateString() === then.toDateString() ? "" : `${then.toLocaleDateString("en", { day: "numeric", month: "short" })}, `;
  return day + then.toLocaleTimeString("en-GB");
}

// How long ago, in one word or two.
export function ago(iso) {
  const seconds = (Date.now() - new Date(iso)) / 1000;
  return seconds < 5 ? "now" : seconds < 60 ? "a moment ago" : `${span(seconds)} ago`;
}

// The loop's figure as people read it: a share in per cent, any other as it is.
export const figure = (loop, x) => (x === null || x === undefined ? "–" : loop.share ? percent(x) : short(x));

export function interval(loop, quality) {
  const silent = quality.silent ? `, ${whole(quality.silent)} silent` : "";
  if (quality.value === null) return quality.of ? `last ${whole(quality.of)}${silent}` : "no data yet";
  const ends = quality.low === null ? "" : loop.share ? `${percent(quality.low).replace(" %", "")}–${percent(quality.high)}, ` : `${short(quality.low)} to ${short(quality.high)}, `;
  return `${ends}last ${whole(quality.of)}${silent}`;
}

export function sparkline(values) {
  const [width, height] = [128, 44];
  const image = svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  if (!values.length) return image;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high - low || 1;
  const x = (i) => (values.length === 1 ? width - 4 : 3 + (i * (width - 7)) / (values.length - 1));
  const y = (v) => height - 6 - ((v - low) / room) * (height - 12);
  const line = values.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  image.append(svg("path", { class: "under", d: `${line}L${x(values.length - 1)} ${height}L${x(0)} ${height}Z` }));
  image.append(svg("path", { d: line }), svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 3 }));
  return image;
}
