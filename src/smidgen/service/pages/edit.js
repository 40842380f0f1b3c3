// Change a model that lives, or archive it: each in a dialog that says what will happen before it does.
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

// Ask once more, then do it: what is sent, what is announced then, and how the two buttons are called.
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
    id: "archive", title: `Archive ${model.name}?`, method: "DELETE", path: "", said: `${model.name} is archived`, leave: "Keep it", go: "Archive it", danger: " danger",
    words: `It will decide no more: apps that ask it will be refused. Answers to its ${whole(model.decisions)} decisions are still learnt until their windows end (${span(model.window_s)} each). Its log, its figures and this page stay, and it can be revived here later.`,
  });
}

export function reviveDialog(model, done) {
  sure(model, done, {
    id: "revive", title: `Revive ${model.name}?`, method: "POST", path: ":revive", said: `${model.name} decides again`, leave: "Leave it", go: "Revive it",
    words: "It will decide again and go on where it was, with all that it has learnt.",
  });
}

// What can be changed of this model, each with what it is now; a field that is left as it is changes nothing.
function parts(model, fits) {
  const all = [
    { setting: "window_s", part: field("Feedback is learnt for (seconds)", "edit-window", number(model.window_s, { min: 0 }), `It is ${span(model.window_s)} now. Decisions that are open keep theirs.`), was: model.window_s },
    fits("default_reward") && { setting: "default_reward", part: field("Silence counts as a reward of", "edit-silence", number(model.default_reward), "Empty: nothing is learnt from silence."), was: model.default_reward },
    fits("explore") && { setting: "explore", part: field("Share of exploration", "edit-explore", number(model.explore, { min: 0, max: 1 }), "Spread evenly over all; 0: always the best guess."), was: model.explore },
    fits("min_share") && { setting: "min_share", part: field("Least share of each candidate", "edit-least", number(model.min_share, { min: 0, max: 1 })), was: model.min_share },
    model.challenger_of && { setting: "share", part: field("Share of the traffic", "edit-share", number(model.challenger_of.share, { min: 0, max: 1 }), `Of the decisions of ${model.challenger_of.model}.`), was: model.challenger_of.share },
    model.labels && { setting: "add_labels", part: field("New labels", "edit-labels", h("textarea", { rows: 2 }), `Besides the ${whole(model.labels.length)} that there are. Separated by commas, or one on each line.`) },
    model.features?.auto && { setting: "add_text", part: field("Fields that become texts", "edit-text", h("input", { autocomplete: "off", placeholder: "title, body" }), model.features.auto.text.length ? `Besides ${model.features.auto.text.join(", ")}.` : "Their words count from then on.") },
  ];
  return all.filter(Boolean);
}

function changes(fields) {
  const out = {};
  for (const { setting, part, was } of fields) {
    if (setting.startsWith("add_")) {
      if (names(part.control.value).length) out[setting] = names(part.control.value);
      continue;
    }
    const now = part.control.value === "" ? null : part.control.valueAsNumber;
    if (now === (was ?? null)) continue;
    if (now === null && setting !== "default_reward") throw Object.assign(new Error("Give a number."), { part });
    out[setting] = now;
  }
  return out;
}

const WORDS = {
  window_s: (value) => `feedback will be learnt for ${span(value)}`,
  default_reward: (value) => (value === null ? "nothing will be learnt from silence" : `silence will count as a reward of ${value}`),
  explore: (value) => `the share of exploration will be ${value}`,
  share: (value) => `it will decide a share of ${value} of the traffic`,
  min_share: (value) => `each candidate will have a share of at least ${value}`,
  add_labels: (value) => `${value.length > 1 ? "there will be the labels" : "there will be the label"} ${value.join(", ")}; labels cannot be taken away again`,
  add_text: (value) => `${value.join(", ")} will be read as text`,
};

// `settings` are those that go with the model's learner and feedback.
export function editDialog(model, settings, done) {
  const fields = parts(model, (setting) => settings.includes(setting) || model[setting] !== null);
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const sure = h("div", { class: "stack", hidden: true, id: "edit-sure", tabindex: "-1" });
  const next = h("button", { class: "main", type: "submit", id: "edit-next" }, "Go on");
  let agreed = null;
  const again = () => { agreed = null; sure.hidden = true; next.textContent = "Go on"; };
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
      wrong.textContent = "Nothing is changed yet.";
      wrong.hidden = false;
      return null;
    }
    if (agreed !== JSON.stringify(wanted)) {
      agreed = JSON.stringify(wanted);
      sure.replaceChildren(h("p", {}, "From now on:"), h("ul", {}, Object.entries(wanted).map(([setting, value]) => h("li", {}, `${WORDS[setting](value)}.`))), h("p", { class: "hint" }, "It is written to the log. What was learnt stays."));
      sure.hidden = false;
      next.textContent = "Change it";
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
      h("div", { class: "row end" }, h("button", { type: "button", onclick: () => root.close() }, "Leave it"), next)));
}
