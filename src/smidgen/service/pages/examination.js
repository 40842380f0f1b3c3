// How far people look: the examination curve with its interval, and how much the model perturbs to learn it.
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
    const [highest, most] = ["high", "value"].map((of) => Math.max(...drawn.map((each) => each[of])));
    const all = (of) => drawn.map((each) => each[of]);
    card.show(drawn.length ? {
      kind: "lines", x: { title: "place", whole: true }, y: { from: 0, to: Math.min(1.03 * highest, Math.max(1.25, 1.5 * most)), share: true }, at: all("place"),
      lines: [{ values: all("value"), low: all("low"), high: all("high"), colour: "good", dots: true }],
      read: (i) => [[`place ${drawn[i].place}`, `${Math.round(100 * drawn[i].value)} %`]],
    } : null, drawn.length ? `${percent(drawn.at(-1).value)} at place ${drawn.at(-1).place}` : "", drawn);
  };
  return { root: card.root, update };
}
