// Preferences learned from edits, in words.
import { get } from "./api.js";
import { h, set } from "./dom.js";

export function tasteCard(model) {
  const said = h("p", { class: "empty" }, "Not enough edits yet.");
  const list = h("ul", { class: "sentences" });
  const root = h("section", { class: "card stack", "aria-labelledby": "taste-title" }, h("h2", { id: "taste-title" }, "Learned preferences"), list, said);
  let drawn = "";
  const update = async () => {
    if (model.keyed) return set(said, "Each user has separate preferences: GET …/taste?key=….");
    const { taste } = await get(`/v1/models/${encodeURIComponent(model.name)}/taste`);
    said.hidden = taste.length > 0;
    const content = JSON.stringify(taste);
    if (content !== drawn) list.replaceChildren(...taste.map((sentence) => h("li", {}, sentence)));
    drawn = content;
    return undefined;
  };
  return { root, update };
}
