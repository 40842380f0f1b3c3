// The recent decisions of a model, and the story of one.
import { get, model as path } from "./api.js";
import { by, clock, h, middle, set, short, span } from "./dom.js";
import { whyList } from "./why.js";

by("story-close").addEventListener("click", () => by("story").close());
by("story").addEventListener("click", (event) => event.target === by("story") && by("story").close());

export async function tell(id) {
  const [reply, raw] = await Promise.all([get(`/ui/decisions/${id}/story.json`), get(`/v1/decisions/${id}`)]);
  by("story-body").replaceChildren(
    h("p", { class: "hint" }, "Decision ", h("code", {}, id)),
    question(raw),
    h("ol", { class: "timeline" }, reply.lines.map((line) => h("li", {}, h("time", { datetime: line.at }, clock(line.at)), line.text))),
    h("details", {}, h("summary", {}, "API response"), h("pre", { tabindex: "0" }, h("code", {}, JSON.stringify(raw, null, 2)))),
  );
  by("story").showModal();
}

// What was asked, the best answers, and what spoke for the answer when it was decided.
function question({ asked, top, contributions, holdout }) {
  const best = (top ?? []).map(({ id, score, probability }) => h("li", {}, middle(String(id)),
    h("span", { class: "hint" }, [score === null ? "" : ` score ${short(score)}`, probability === null ? "" : ` p = ${short(probability)}`].filter(Boolean).join(","))));
  return h("div", { class: "stack", id: "question" },
    holdout && h("p", { class: "hint" }, "The policy of the holdout answered, not the model: nothing is learned from it."),
    best.length > 0 && h("section", { class: "stack tight", "aria-label": "Best answers" }, h("h3", {}, "Best answers"), h("ul", { class: "sentences" }, best)),
    contributions?.items.length > 0 && whyList(contributions),
    asked && h("details", {}, h("summary", {}, "The request"), h("pre", { tabindex: "0" }, h("code", {}, JSON.stringify(asked, null, 2)))));
}

export function recentCard(model, loop) {
  const rows = h("tbody");
  const older = h("button", { type: "button", class: "quiet", hidden: true }, "Older");
  const newest = h("button", { type: "button", class: "quiet", hidden: true }, "Newest");
  const empty = h("p", { class: "empty" }, "No decisions yet. Request one above, or from your app.");
  const table = h("div", {}, h("table", { class: "recent" },
    h("thead", {}, h("tr", {}, ["Time", "Decision", "Feedback", "Delay", "Status"].map((text) => h("th", { scope: "col" }, text)))), rows));
  const root = h("section", { class: "card stack full", "aria-labelledby": "recent-title" },
    h("div", { class: "row between" }, h("div", {}, h("h2", { id: "recent-title" }, "Recent decisions"), h("p", { class: "hint" }, "Select a decision to read its story.")), h("div", { class: "row" }, newest, older)),
    table, empty);
  let [shown, before, last] = ["", 0, 0];
  const update = async () => {
    const { decisions, older: next } = await get(`${path(model.name)}/recent.json?before=${before}`);
    empty.hidden = decisions.length > 0 || before !== 0;
    table.hidden = !empty.hidden;
    older.hidden = decisions.length < 12;
    newest.hidden = before === 0;
    last = next;
    const content = JSON.stringify(decisions);
    if (content === shown) return;
    shown = content;
    const focused = rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    rows.replaceChildren(...decisions.map((one) => row(one, loop.words.tells_exploring)));
    if (focused) rows.querySelector(`[data-id="${focused}"]`)?.focus();
  };
  older.addEventListener("click", () => { before = last; update(); });
  newest.addEventListener("click", () => { before = 0; update(); });
  return { root, update };
}

function row(one, mayExplore) {
  const state = one.status === "learnt" ? `learnt, version ${one.learnt_version.toLocaleString("en")}` : one.status;
  const chip = h("span", { class: `chip ${one.status}` });
  set(chip, state);
  const place = one.position ? `, at position ${one.position}` : "";
  return h("tr", {},
    h("td", { class: "muted" }, clock(one.made_at)),
    h("td", { class: "grow" }, h("button", { type: "button", class: "link clip", "data-id": one.decision, onclick: () => tell(one.decision) }, one.answer),
      one.key && h("span", { class: "hint" }, ` for ${one.key}`), one.explored && mayExplore && h("span", { class: "hint" }, " · explored")),
    h("td", {}, one.feedback ? h("span", { class: "clip" }, one.feedback + place) : h("span", { class: "muted" }, "–")),
    h("td", { class: "muted" }, span(one.lag_s)),
    h("td", {}, chip));
}
