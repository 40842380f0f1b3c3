// How far people look: the examination curve with its interval, and how much the model perturbs to learn it.
import { faded } from "./charts.js";
import { h, percent, set } from "./dom.js";

export function examinationCard(chartCard) {
  const card = chartCard("How far people look", "", "third", "short");
  card.root.hidden = true;
  card.chart.id = "examination";
  const cost = h("p", { class: "hint", hidden: true, id: "perturbation" });
  card.caption.after(cost);
  // Shown where the service gives it; where the curve is not known it may say why.
  const update = (curve, perturbation, why) => {
    const drawn = (curve?.places ?? []).map((place, i) => ({ place, value: curve.value[i], low: curve.low?.[i] ?? curve.value[i], high: curve.high?.[i] ?? curve.value[i] })).filter(({ value }) => Number.isFinite(value));
    card.root.hidden = !drawn.length && !perturbation?.sentence && !why;
    cost.hidden = !perturbation?.sentence;
    set(cost, perturbation?.sentence ?? "");
    set(card.empty, why ? why[0].toUpperCase() + why.slice(1) : "Not enough clicks yet to tell.");
    if (card.root.hidden) return;
    set(card.caption, drawn.length ? "How likely each place is looked at, the first taken as 1, with its interval." : "");
    const x = drawn.map(({ place }) => place);
    const invisible = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", x };
    card.show(drawn.length ? (c) => ({
      traces: [
        { ...invisible, y: drawn.map(({ low }) => low) },
        { ...invisible, y: drawn.map(({ high }) => high), fill: "tonexty", fillcolor: faded(c.good, 0.16) },
        { x, y: drawn.map(({ value }) => value), mode: "lines+markers", line: { color: c.good, width: 2.2 }, marker: { size: 5, color: c.good }, hovertemplate: "place %{x}<br><b>%{y:.0%}</b><extra></extra>" },
      ],
      layout: { xaxis: { title: { text: "place" }, tickformat: ",d", ...(x.length < 12 ? { dtick: 1 } : { nticks: 6 }) }, yaxis: { rangemode: "tozero", tickformat: ".0%", nticks: 5 } },
    }) : null, drawn.length ? `${percent(drawn.at(-1).value)} at place ${drawn.at(-1).place}` : "", drawn);
  };
  return { root: card.root, update };
}
