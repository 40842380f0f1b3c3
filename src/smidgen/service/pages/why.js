// Explains a decision: the contribution of each feature to the score, strongest first.
import { h, short, whole } from "./dom.js";

const MOST = 8;

export function whyList({ version, items }) {
  const most = Math.max(...items.map(([, value]) => Math.abs(value)));
  const rows = items.slice(0, MOST).map(([name, value]) => {
    const bar = h("i", { class: value < 0 ? "minus" : "" });
    bar.style.width = `${(100 * Math.abs(value)) / most}%`;
    return h("li", {}, h("span", { class: "of" }, name), h("span", { class: "track", "aria-hidden": "true" }, bar), h("span", { class: "value" }, `${value < 0 ? "−" : "+"}${short(Math.abs(value))}`));
  });
  const rest = items.length > MOST ? `, and ${whole(items.length - MOST)} more` : "";
  return h("section", { class: "stack tight", "aria-label": "Why this decision" },
    h("h3", {}, "Why this decision"), h("ul", { class: "why-list" }, rows),
    h("p", { class: "hint" }, `Contribution of each feature to the score, with the weights of version ${whole(version)}${rest}.`));
}
