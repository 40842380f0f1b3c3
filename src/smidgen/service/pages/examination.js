// Position bias: the examination curve with its interval, and what the randomization costs.
import { h, percent, set } from "./dom.js";

export function examinationCard(chartCard) {
  const card = chartCard("Position bias", "", "third", "short");
  card.root.hidden = true;
  card.chart.id = "examination";
  const cost = h("p", { class: "hint", hidden: true, id: "perturbation" });
  card.caption.after(cost);
  // Shown if the service has a curve or a reason why there is none.
  const update = (curve, perturbation, why) => {
    const drawn = (curve?.places ?? []).map((place, i) => ({ place, value: curve.value[i], low: curve.low?.[i] ?? curve.value[i], high: curve.high?.[i] ?? curve.value[i] })).filter(({ value }) => Number.isFinite(value));
    card.root.hidden = !drawn.length && !perturbation?.sentence && !why;
    cost.hidden = !perturbation?.sentence;
    set(cost, perturbation?.sentence ?? "");
    set(card.empty, why ? why[0].toUpperCase() + why.slice(1) : "Not enough clicks yet.");
    if (card.root.hidden) return;
    set(card.caption, drawn.length ? "Probability that users look at each position, relative to the first, with 95 % intervals." : "");
    const [highest, most] = ["high", "value"].map((of) => Math.max(...drawn.map((each) => each[of])));
    const all = (of) => drawn.map((each) => each[of]);
    card.show(drawn.length ? {
      kind: "lines", x: { title: "position", whole: true }, y: { from: 0, to: Math.min(1.03 * highest, Math.max(1.25, 1.5 * most)), share: true }, at: all("place"),
      lines: [{ values: all("value"), low: all("low"), high: all("high"), colour: "good", dots: true }],
      read: (i) => [[`position ${drawn[i].place}`, `${Math.round(100 * drawn[i].value)} %`]],
    } : null, drawn.length ? `${percent(drawn.at(-1).value)} at position ${drawn.at(-1).place}` : "", drawn);
  };
  return { root: card.root, update };
}
