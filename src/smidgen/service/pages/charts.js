// Plotly, loaded when the first chart is drawn, in the page's own colours.
let loading = null;
const drawn = new Map();

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/ui/plotly.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The charts need plotly: pip install 'smidgen[service]'."));
    document.head.append(script);
  });
  return loading;
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "muted", "grid", "line", "surface", "accent", "second", "good", "bad", "sans"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function faded(colour, alpha) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return `rgba(${r},${g},${b},${alpha})`;
}

function layout(c, own) {
  const axis = { gridcolor: c.grid, zeroline: false, linecolor: c.line, tickfont: { color: c.muted, size: 11.5 }, title: { font: { color: c.muted, size: 12 }, standoff: 8 }, fixedrange: true, automargin: true };
  const { xaxis = {}, yaxis = {}, ...rest } = own;
  const titled = (more) => ({ ...axis, ...more, title: { ...axis.title, ...(more.title ?? {}) } });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: c.sans, color: c.ink, size: 12.5 },
    margin: { l: 44, r: 12, t: 8, b: 38 }, dragmode: false, hovermode: "x", showlegend: false,
    hoverlabel: { bgcolor: c.surface, bordercolor: c.line, font: { family: c.sans, color: c.ink, size: 12.5 }, align: "left" },
    ...rest,
    xaxis: titled({ showgrid: false, ...xaxis }),
    yaxis: titled(yaxis),
  };
}

// `picture` gives traces and a layout from the theme's colours, so that a change of theme can draw it anew.
export async function draw(element, picture) {
  drawn.set(element, picture);
  const plotly = await load();
  if (drawn.get(element) !== picture || !element.isConnected) return;
  const c = colours();
  const { traces, layout: own } = picture(c);
  await plotly.react(element, traces, layout(c, own), { displayModeBar: false, responsive: true, staticPlot: false });
}

document.addEventListener("themechange", () => {
  for (const [element, picture] of drawn) {
    if (element.isConnected) draw(element, picture);
    else drawn.delete(element);
  }
});

// Plotly reads some HTML in its texts, links among it. What apps call things is text; where there is little room it is cut.
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const plain = (name, most = 200) => cut(String(name), most).replace(/[&<>]/g, (letter) => ENTITIES[letter]);

// A line with a band between low and high.
export function band(c, points, { colour, format, name }) {
  const x = points.map((p) => p.to);
  const line = { shape: "linear", color: colour, width: 2.4 };
  const invisible = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", x };
  return [
    { ...invisible, y: points.map((p) => p.low) },
    { ...invisible, y: points.map((p) => p.high), fill: "tonexty", fillcolor: faded(colour, 0.14) },
    {
      x, y: points.map((p) => p.value), mode: points.length > 30 ? "lines" : "lines+markers", line, marker: { size: 6, color: colour }, name,
      hovertemplate: `%{customdata}<br><b>%{y:${format}}</b><extra></extra>`,
      customdata: points.map((p) => `feedback ${p.from.toLocaleString("en")}–${p.to.toLocaleString("en")}`),
    },
  ];
}
