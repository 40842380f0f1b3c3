// Knobs: rows of a name and limits, in the app's own units.
import { get, sentence } from "./api.js";
import { h, set, short, whole } from "./dom.js";
import { field, names } from "./fields.js";

const KINDS = [["plain", "a number"], ["integer", "an integer"], ["log", "a number, logarithmic"], ["categories", "one of several names"]];

export function knobsEditor(changed) {
  const list = h("div", { class: "knobs" });
  const add = (name = "", kind = "plain", low = "0", high = "1") => {
    const n = list.children.length + 1;
    const row = h("div", { class: "knob" },
      h("input", { class: "knob-name", value: name, placeholder: "timeout", maxlength: 200, "aria-label": `Name of knob ${n}`, autocomplete: "off" }),
      h("select", { class: "knob-kind", "aria-label": `Kind of knob ${n}` }, KINDS.map(([value, text]) => h("option", { value, selected: value === kind }, text))),
      h("input", { class: "knob-low", type: "number", step: "any", value: low, "aria-label": `Minimum of knob ${n}` }),
      h("input", { class: "knob-high", type: "number", step: "any", value: high, "aria-label": `Maximum of knob ${n}` }),
      h("input", { class: "knob-values", placeholder: "bulk, stream", hidden: true, "aria-label": `Names of knob ${n}`, autocomplete: "off" }),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove knob ${n}`, onclick: () => { row.remove(); changed(); } }, "Remove"));
    const select = row.querySelector(".knob-kind");
    const arrange = () => {
      for (const part of ["low", "high"]) row.querySelector(`.knob-${part}`).hidden = select.value === "categories";
      row.querySelector(".knob-values").hidden = select.value !== "categories";
    };
    select.addEventListener("change", arrange);
    list.append(row);
    return row;
  };
  add("timeout", "log", "0.01", "10");
  add("threads", "integer", "1", "64");
  const more = h("button", { type: "button", onclick: () => { add().querySelector("input").focus(); changed(); } }, "Add knob");
  const root = h("div", { class: "stack tight" }, h("div", { class: "knob heads", "aria-hidden": "true" }, ["name", "kind", "from", "to", ""].map((text) => h("span", { class: "hint" }, text))), list, h("div", {}, more));

  const rows = () => [...list.children].map((row) => {
    const [name, kind, low, high, values] = ["name", "kind", "low", "high", "values"].map((part) => row.querySelector(`.knob-${part}`));
    return { name: name.value.trim(), kind: kind.value, low: low.valueAsNumber, high: high.valueAsNumber, values: names(values.value) };
  });
  return {
    root,
    // As the service takes them: a pair, or {"integer": pair}, {"log": pair}, {"categories": [name, …]}.
    value: () => Object.fromEntries(rows().filter(({ name }) => name).map(({ name, kind, low, high, values }) => [name, kind === "plain" ? [low, high] : { [kind]: kind === "categories" ? values : [low, high] }])),
    // Where the service knows no knobs: a box in their own units.
    space() {
      const numbers = rows().filter(({ kind }) => kind !== "categories");
      return { type: "Box", low: numbers.map(({ low }) => low), high: numbers.map(({ high }) => high) };
    },
    wrong() {
      const all = rows();
      if (!all.length) return "Add at least one knob.";
      const few = all.find(({ kind, values }) => kind === "categories" && values.length < 2);
      if (few) return `Give at least two names for ${few.name || "the knob"}, separated by commas.`;
      const bad = all.find(({ name, kind, low, high }) => !name || (kind !== "categories" && !(low < high)));
      if (bad) return bad.name ? `The limits of ${bad.name} are ${bad.low} and ${bad.high}: the first must be smaller than the second.` : "Every knob needs a name.";
      return new Set(all.map(({ name }) => name)).size < all.length ? "Two knobs have the same name." : null;
    },
  };
}

// The best point of a tuner with its expected loss, in a context or without; hidden while it is not known.
export function bestCard(model) {
  const [values, said] = [h("div"), h("p", { class: "hint" })];
  const context = field("In the context", "best-context", h("input", { class: "code", placeholder: '{"plan": "free"}', spellcheck: "false", autocomplete: "off" }), "A record as JSON; empty: without a context.");
  const root = h("section", { class: "card stack third", "aria-labelledby": "best-title", hidden: true }, h("h2", { id: "best-title" }, "Best so far"), model.features && context.root, values, said);
  let drawn = "";
  const update = async (found) => {
    context.clear();
    let best = found;
    if (best && context.control.value.trim()) {
      try {
        ({ best } = await get(`/v1/models/${encodeURIComponent(model.name)}?context=${encodeURIComponent(context.control.value)}`));
      } catch (error) {
        context.fail(sentence(error));
        return;
      }
    }
    root.hidden = !best;
    const content = JSON.stringify(best ?? null);
    if (!best || content === drawn) return;
    drawn = content;
    values.replaceChildren(knobsTable(best.knobs ?? Object.fromEntries(best.point.map((x, i) => [`x${i + 1}`, x]))));
    const interval = best.low === null || best.high === null ? "" : ` (${short(best.low)} to ${short(best.high)})`;
    const beyond = best.clipped ? ` ${whole(best.clipped)} losses were above the bound.` : "";
    set(said, (best.loss === null ? "The expected loss is not known yet." : `Expected loss: ${short(best.loss)}${interval}.`) + beyond);
  };
  context.control.addEventListener("change", () => get(`/v1/models/${encodeURIComponent(model.name)}`).then(({ best }) => update(best)).catch(() => {}));
  return { root, update };
}

// The knobs of an answer, in their own units.
export const knobsTable = (knobs) => h("dl", { class: "own-units" }, Object.entries(knobs).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? String(+value.toPrecision(6)) : String(value)))));
