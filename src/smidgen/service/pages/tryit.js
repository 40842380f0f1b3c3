// Request a decision and send feedback by hand, with the same calls as an app.
import { call, get, model as path, sentence } from "./api.js";
import { announce, h, whole } from "./dom.js";
import { field, named } from "./fields.js";
import { knobsTable } from "./knobs.js";
import { byRecords, known, positions, random, request, samples, takesContext } from "./request.js";
import { whyList } from "./why.js";

const WIDEST = 8;

export function tryCard(model, loop, refresh, asked) {
  const numbers = featureNames(model);
  const shape = loop.words.asks === "context" && !takesContext(model, loop) ? "nothing" : loop.words.asks;
  const candidates = shape === "candidates";
  const grid = shape !== "json" && numbers !== null && numbers.length <= WIDEST;
  const asks = shape === "json" || (shape !== "nothing" && !(numbers !== null && numbers.length === 0));
  const input = !asks ? null : grid ? table(numbers, candidates, Array.isArray(model.features), shape) : written(model, loop, candidates);
  const key = h("input", { id: "try-key", value: "ann", required: true, maxlength: 200 });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const answer = h("div", { class: "stack", id: "try-answer" });

  const body = () => {
    const whose = model.keyed ? { key: key.value } : {};
    const given = input ? input.value() : {};
    return given === null ? null : { ...whose, ...given };
  };
  const tell = () => { const now = body(); if (now) asked(now); };
  const refuse = (error) => {
    const at = input?.fields ? named(error.message, input.fields) : null;
    if (at) return at.fail(sentence(error));
    wrong.textContent = sentence(error);
    wrong.hidden = false;
    return null;
  };
  const explain = async (decision, place) => {
    const { contributions } = await get(`/v1/decisions/${decision.decision}`);
    place.replaceChildren(...(contributions?.items.length ? [whyList(contributions)] : []));
  };
  const take = async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    input?.clear?.();
    const sent = body();
    if (sent === null) return;
    asked(sent);
    try {
      const decision = await call("POST", `/v1/models/${encodeURIComponent(model.name)}/decisions`, sent);
      const reply = await get(`/ui/decisions/${decision.decision}/answers.json`);
      const why = h("div");
      answer.replaceChildren(...reactions(reply, decision, loop, (feedback) => react(decision, feedback, why)), why);
      announce("Received a decision. Choose the feedback.");
      answer.querySelector("button, input, select")?.focus();
      await Promise.all([explain(decision, why), refresh()]);
    } catch (error) { refuse(error); }
  };
  const react = async (decision, feedback, why) => {
    wrong.hidden = true;
    try {
      const reply = await call("POST", `/v1/decisions/${decision.decision}/feedback`, feedback);
      const before = decision.model_version;
      const rise = reply.model_version === before + 1 ? ` It was at version ${whole(before)}.` : "";
      const words = { learnt: `Learned: the model is at version ${whole(reply.model_version)}.${rise}`, duplicate: "Duplicate: already learned.", late: "Late: logged, not learned." }[reply.status];
      answer.querySelectorAll("button, input, select").forEach((control) => { control.disabled = true; });
      why.before(h("p", { class: "said", id: "try-said" }, words));
      announce(words);
      ask.focus();
      await Promise.all([explain(decision, why), refresh()]);
    } catch (error) { refuse(error); }
  };

  const ask = h("button", { class: "main", type: "submit", id: "try-ask" }, "Request a decision");
  const again = () => { input.fill(); tell(); };
  const form = h("form", { class: "stack", onsubmit: take, onchange: tell },
    model.keyed && h("div", { class: "field" }, h("label", { for: "try-key" }, "Key (e.g. the user's id)"), key),
    input?.root,
    h("div", { class: "row" }, ask, asks && h("button", { type: "button", id: "try-shuffle", onclick: again }, grid ? "Random numbers" : "Another example")));
  tell();
  if (input?.learnt) input.learnt().then(tell).catch(() => {}); // until names are known, keep the example
  const what = !asks ? "Request" : grid ? "Change the numbers, request" : "Write or paste what your app would send, request";
  return h("section", { class: "card stack wide", "aria-labelledby": "try-title" },
    h("div", {}, h("h2", { id: "try-title" }, "Try it"), h("p", { class: "hint" }, `${what} a decision, then choose the feedback: the curve moves with it.`)),
    form, wrong, answer);
}

// Few numbers by name or by position: a table of them.
function table(names, candidates, named, shape) {
  const root = h("div", { class: "scroll" });
  const fill = () => {
    const ids = candidates ? ["a", "b", "c", "d"] : ["item"];
    root.replaceChildren(h("table", { class: "offered" },
      h("thead", {}, h("tr", {}, candidates && h("th", { scope: "col" }, "id"), names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ids.map((id) => h("tr", { "data-id": id }, candidates && h("th", { scope: "row" }, id), names.map((name) => h("td", {},
        h("input", { type: "number", step: "any", required: true, value: String(random()), "data-name": name, "aria-label": candidates ? `${name} of ${id}` : name }))))))));
  };
  const value = () => {
    const rows = [...root.querySelectorAll("tbody tr")].map((row) => {
      const inputs = [...row.querySelectorAll("input")];
      return { id: row.dataset.id, features: named ? Object.fromEntries(inputs.map((input) => [input.dataset.name, input.valueAsNumber])) : inputs.map((input) => input.valueAsNumber) };
    });
    return candidates ? { candidates: rows } : { [shape]: rows[0].features };
  };
  fill();
  return { root, fill, value };
}

// Anything else as JSON, part by part: what the app knows of the moment, and what there is to decide on.
// The slots that the model knows, as a request has them.
const slotsOf = (fields) => (fields?.slots.length ? JSON.stringify(fields.slots.map((id) => ({ id }))) : "");

function written(model, loop, candidates) {
  const records = byRecords(model, loop);
  const area = (rows) => h("textarea", { class: "code", rows, spellcheck: "false" });
  const whole = loop.words.asks === "json";
  const parts = whole ? { "": field("Request (JSON)", "try-body", area(6)) }
    : candidates ? { ...(records && { context: field("Context: shared by all candidates", "try-context", area(2)) }), candidates: field("Candidates", "try-candidates", area(5), records ? "An array of objects, each with an id and a record. Ids alone are enough." : "An array of objects, each with an id and features.") }
      : loop.words.asks === "context" ? { context: field("Context", "try-context", area(3), "A record of what the best setting may depend on. {} if there is nothing.") }
      : { features: field(records ? "Record" : "Features", "try-record", area(5)) };
  if (candidates && records && model.feedback === "reward") {
    parts.slots = field("Slots", "try-slots", area(1), 'An array of places to fill, each with an id: [{"id":"hero"}]. Empty: one candidate is chosen.');
  }
  let fields = null;
  const fill = () => {
    const guess = request(model, loop, { sample: samples.get(model.name), fields });
    if (whole) { parts[""].control.value = JSON.stringify(guess, null, 1); return; }
    for (const [name, part] of Object.entries(parts)) part.control.value = name === "slots" ? slotsOf(fields) : pretty(guess[name] ?? {});
  };
  const value = () => {
    const out = {};
    for (const [name, part] of Object.entries(parts)) {
      part.clear();
      if (!part.control.value.trim()) continue;
      try {
        const given = JSON.parse(part.control.value);
        if (name) out[name] = given;
        else Object.assign(out, given);
      } catch (error) {
        part.fail(`Not valid JSON: ${error.message}.`);
        return null;
      }
    }
    if (out.context && !Object.keys(out.context).length) delete out.context;
    return out;
  };
  fill();
  // The names that the model has learned show what its app sends.
  const learnt = async () => {
    if (!records) return;
    const { names } = await get(`${path(model.name)}/names.json`);
    const found = known(names);
    if (!Object.keys(found.item).length && !Object.keys(found.context).length && !found.slots.length) return;
    fields = found;
    if (!root.contains(document.activeElement) && !samples.get(model.name)) fill();
  };
  const root = h("div", { class: "stack" }, Object.values(parts).map((part) => part.root));
  const clear = () => Object.values(parts).forEach((part) => part.clear());
  return { root, fill, value, clear, fields: parts, learnt };
}

// One candidate per line, so that a list is readable and editable.
const pretty = (value) => (Array.isArray(value) ? `[\n${value.map((each) => ` ${JSON.stringify(each)}`).join(",\n")}\n]` : JSON.stringify(value));

function featureNames(model) {
  if (Array.isArray(model.features)) return model.features;
  if (model.features?.hashed || model.features?.auto) return null;
  const dim = positions(model);
  return dim === undefined ? [] : dim > WIDEST ? null : Array.from({ length: dim }, (_, i) => `feature ${i + 1}`);
}

function reactions(reply, decision, loop, react) {
  const explored = decision.explored && loop.words.tells_exploring;
  const parts = [h("p", {}, decision.knobs ? "Proposed knobs:" : reply.text, explored && h("span", { class: "hint" }, " (explored)"))];
  if (decision.knobs) parts.push(knobsTable(decision.knobs));
  if (reply.ordered) {
    parts.push(h("ol", { class: "answers" }, reply.options.map((one) => h("li", {}, h("button", { type: "button", "data-candidate": one.text, onclick: () => react(one.feedback) },
      h("span", {}, one.text), h("span", { class: "hint" }, one.hint))))));
  } else if (reply.options.length) {
    parts.push(h("div", { class: "row" }, reply.options.map((one) => h("button", { type: "button", class: one.main ? "main" : "", title: one.hint || null, onclick: () => react(one.feedback) }, one.text))));
  }
  if (reply.note) parts.push(h("p", { class: "hint" }, reply.note));
  if (reply.entry) parts.push(entry(reply.entry, react));
  return parts;
}

// An input: a number, several numbers, a text, or (without a field) the whole feedback as JSON.
function entry({ label, field, many, text }, react) {
  const one = field && !many && !text;
  const value = text ? h("textarea", { id: "try-value", rows: 6 }) : h("input", { id: "try-value", required: true, type: one ? "number" : "text", step: "any", placeholder: one ? "0.5" : field ? "0.1, -0.2, …" : "{ }" });
  const send = (event) => {
    event.preventDefault();
    try {
      react(text ? { [field]: value.value } : field ? { [field]: many ? value.value.split(",").map(Number) : value.valueAsNumber } : JSON.parse(value.value));
      value.setCustomValidity("");
    } catch (error) {
      value.setCustomValidity(error.message);
      value.reportValidity();
    }
  };
  value.addEventListener("input", () => value.setCustomValidity(""));
  return h("form", { class: "row bottom", onsubmit: send }, h("div", { class: "field" }, h("label", { for: "try-value" }, label), value), h("button", { class: "main", type: "submit" }, "Send feedback"));
}
