// Dialogs that change, archive or restore a model, and state the effect first.
import { call, sentence } from "./api.js";
import { announce, h, span, whole } from "./dom.js";
import { field, named, names } from "./fields.js";

const number = (value, attributes = {}) => h("input", { type: "number", step: "any", value: value ?? "", ...attributes });

export function dialog(id, title, ...inside) {
  const root = h("dialog", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...inside);
  root.addEventListener("close", () => root.remove());
  document.body.append(root);
  root.showModal();
  return root;
}

// Confirm, then send: the request, the announcement and the labels of the two buttons.
function sure(model, done, { id, title, words, method, path, said, leave, go, danger = "" }) {
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    try {
      await call(method, `/v1/models/${encodeURIComponent(model.name)}${path}`, ...(method === "POST" ? [{}] : []));
      root.close();
      announce(said);
      await done();
    } catch (error) {
      wrong.textContent = sentence(error);
      wrong.hidden = false;
    }
  };
  const root = dialog(id, title,
    h("form", { class: "stack", onsubmit: send }, h("p", {}, words), wrong,
      h("div", { class: "row end" }, h("button", { type: "button", onclick: () => root.close() }, leave), h("button", { class: `main${danger}`, type: "submit", id: `${id}-it` }, go))));
}

export function archiveDialog(model, done) {
  sure(model, done, {
    id: "archive", title: `Archive ${model.name}?`, method: "DELETE", path: "", said: `Archived ${model.name}`, leave: "Cancel", go: "Archive model", danger: " danger",
    words: `It makes no more decisions: requests from apps get an error. Feedback on its ${whole(model.decisions)} decisions is still learned until their windows close (${span(model.window_s)} each). The log and this page stay, and you can restore the model here later.`,
  });
}

export function reviveDialog(model, done) {
  sure(model, done, {
    id: "revive", title: `Restore ${model.name}?`, method: "POST", path: ":revive", said: `Restored ${model.name}`, leave: "Cancel", go: "Restore model",
    words: "It decides again and continues from its last state.",
  });
}

// The settings that can change, with their current values; unchanged fields are not sent.
function parts(model, fits) {
  const all = [
    { setting: "window_s", part: field("Feedback window (s)", "edit-window", number(model.window_s, { min: 0 }), `Currently ${span(model.window_s)}. Open decisions keep their window.`), was: model.window_s },
    fits("default_reward") && { setting: "default_reward", part: field("Reward for missing feedback", "edit-silence", number(model.default_reward), "Empty: missing feedback is ignored."), was: model.default_reward },
    fits("explore") && { setting: "explore", part: field("Exploration share", "edit-explore", number(model.explore, { min: 0, max: 1 }), "Share of decisions drawn evenly from all candidates; 0 always shows the best guess."), was: model.explore },
    fits("min_share") && { setting: "min_share", part: field("Minimum share per candidate", "edit-least", number(model.min_share, { min: 0, max: 1 })), was: model.min_share },
    model.challenger_of && { setting: "share", part: field("Share of the traffic", "edit-share", number(model.challenger_of.share, { min: 0, max: 1 }), `Share of the decisions of ${model.challenger_of.model}.`), was: model.challenger_of.share },
    model.labels && { setting: "add_labels", part: field("New labels", "edit-labels", h("textarea", { rows: 2 }), `In addition to the existing ${whole(model.labels.length)}. Separated by commas, or one per line.`) },
    fits("safe") && { setting: "safe", part: field("Safe setting", "edit-safe", h("textarea", { class: "code", rows: 2, spellcheck: "false" }, model.safe ? JSON.stringify(model.safe) : ""), "JSON: all knobs, and how much more another setting may cost. Empty: none."), was: model.safe },
    model.features?.auto && { setting: "add_text", part: field("New text fields", "edit-text", h("input", { autocomplete: "off", placeholder: "title, body" }), model.features.auto.text.length ? `In addition to ${model.features.auto.text.join(", ")}.` : "Each word of these fields becomes a feature.") },
  ];
  return all.filter(Boolean);
}

// The JSON of a field; null if it is empty.
function read(part) {
  try {
    return part.control.value.trim() ? JSON.parse(part.control.value) : null;
  } catch (error) {
    throw Object.assign(new Error(`Not valid JSON: ${error.message}.`), { part });
  }
}

function changes(fields) {
  const out = {};
  for (const { setting, part, was } of fields) {
    if (setting.startsWith("add_")) {
      if (names(part.control.value).length) out[setting] = names(part.control.value);
      continue;
    }
    if (setting === "safe") {
      const given = read(part);
      if (JSON.stringify(given) !== JSON.stringify(was ?? null)) out.safe = given;
      continue;
    }
    const now = part.control.value === "" ? null : part.control.valueAsNumber;
    if (now === (was ?? null)) continue;
    if (now === null && setting !== "default_reward") throw Object.assign(new Error("Enter a number."), { part });
    out[setting] = now;
  }
  return out;
}

const WORDS = {
  window_s: (value) => `the feedback window is ${span(value)}`,
  default_reward: (value) => (value === null ? "missing feedback is ignored" : `missing feedback counts as a reward of ${value}`),
  explore: (value) => `the exploration share is ${value}`,
  share: (value) => `it decides a share of ${value} of the traffic`,
  min_share: (value) => `each candidate has a share of at least ${value}`,
  safe: (value) => (value === null ? "no setting is taken as safe" : `the safe setting is ${JSON.stringify(value.knobs)}, and another may cost ${value.margin} more`),
  add_labels: (value) => `${value.length > 1 ? "new labels" : "new label"}: ${value.join(", ")}; labels cannot be removed later`,
  add_text: (value) => `${value.join(", ")} ${value.length > 1 ? "are" : "is"} read as text`,
};

// `settings` are those that go with the model's learner and feedback.
export function editDialog(model, settings, done) {
  const fields = parts(model, (setting) => settings.includes(setting) || model[setting] !== null);
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const sure = h("div", { class: "stack", hidden: true, id: "edit-sure", tabindex: "-1" });
  const next = h("button", { class: "main", type: "submit", id: "edit-next" }, "Review changes");
  let agreed = null;
  const again = () => { agreed = null; sure.hidden = true; next.textContent = "Review changes"; };
  const go = async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    for (const { part } of fields) part.clear();
    let wanted;
    try {
      wanted = changes(fields);
    } catch (error) {
      return error.part.fail(error.message);
    }
    if (!Object.keys(wanted).length) {
      wrong.textContent = "No changes yet. Change at least one field.";
      wrong.hidden = false;
      return null;
    }
    if (agreed !== JSON.stringify(wanted)) {
      agreed = JSON.stringify(wanted);
      sure.replaceChildren(h("p", {}, "From now on:"), h("ul", {}, Object.entries(wanted).map(([setting, value]) => h("li", {}, `${WORDS[setting](value)}.`))), h("p", { class: "hint" }, "The change is written to the log. The learned state stays."));
      sure.hidden = false;
      next.textContent = "Apply changes";
      sure.focus();
      return null;
    }
    try {
      await call("PATCH", `/v1/models/${encodeURIComponent(model.name)}`, wanted);
      root.close();
      announce("Changed");
      await done();
    } catch (error) {
      again();
      const at = named(error.message, Object.fromEntries(fields.map(({ setting, part }) => [setting, part])));
      if (at) return at.fail(sentence(error));
      wrong.textContent = sentence(error);
      wrong.hidden = false;
    }
    return null;
  };
  const root = dialog("edit", `Change ${model.name}`,
    h("form", { class: "stack", onsubmit: go, oninput: again, novalidate: true }, fields.map(({ part }) => part.root), sure, wrong,
      h("div", { class: "row end" }, h("button", { type: "button", onclick: () => root.close() }, "Cancel"), next)));
}
