// The findings of the health checks with their hints, at the top of a model's page.
import { get } from "./api.js";
import { h, set, whole } from "./dom.js";

const WORDS = { problem: "problem", warning: "warning", info: "info" };
export const title = (code) => (code === "nothing_to_learn" ? "nothing to learn from" : code.replaceAll("_", " "));
export const idle = (findings) => findings.some((finding) => finding.code === "nothing_to_learn");

// The worst of the findings in a few words, for lists; hidden where there are none.
export function badge() {
  const root = h("span", { class: "chip", hidden: true });
  const update = (findings) => {
    const worst = findings[0]?.severity;
    root.hidden = !worst;
    root.className = `chip ${worst ?? ""}`;
    const codes = new Set(findings.filter((finding) => finding.severity === worst).map((finding) => title(finding.code)));
    set(root, worst ? [...codes].join(", ") : "");
  };
  return { root, update };
}

const item = (finding) => h("li", { class: finding.severity, "data-code": finding.code },
  h("span", { class: `chip ${finding.severity}` }, WORDS[finding.severity]),
  h("div", {}, h("p", {}, finding.message), h("p", { class: "hint" }, finding.hint)));

export function healthCard(name) {
  const state = h("p", { class: "muted", id: "health-state" }, "…");
  const list = h("ul", { class: "findings" });
  const root = h("section", { class: "card stack health", "aria-labelledby": "health-title" }, h("h2", { id: "health-title" }, "Health"), state, list);
  let drawn = "";
  const update = async (model) => {
    const { findings } = await get(`/v1/models/${encodeURIComponent(name)}/health`);
    const content = JSON.stringify(findings);
    if (content !== drawn) list.replaceChildren(...findings.map(item));
    drawn = content;
    state.hidden = findings.length > 0;
    set(state, model.decisions ? `Healthy: no problems in the latest decisions (${whole(model.decisions)} in total).` : "No decisions yet.");
    root.dataset.worst = findings[0]?.severity ?? "good";
    return findings;
  };
  return { root, update };
}
