// Take a decision by hand and answer it, through the same calls that an app makes.
import { call, get, sentence } from "./api.js";
import { announce, h } from "./dom.js";

const WIDEST = 8;
const random = () => +(Math.random() * 2 - 1).toFixed(2);

export function tryCard(model, loop, refresh) {
  const names = featureNames(model);
  const shape = loop.words.asks;
  const candidates = shape === "candidates";
  const grid = shape !== "json" && names !== null && names.length <= WIDEST;
  const asks = shape === "json" || (shape !== "nothing" && !(names !== null && names.length === 0));
  const table = h("div", { class: "scroll" });
  const free = h("textarea", { class: "code", rows: 6, spellcheck: "false", id: "try-body", "aria-label": "The request as JSON" });
  const key = h("input", { id: "try-key", value: "ann", required: true, maxlength: 200 });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const answer = h("div", { class: "stack", id: "try-answer" });
  const curl = h("code");

  const fill = () => {
    if (!asks) return;
    if (!grid) { free.value = JSON.stringify(guess(model, loop), null, 1); return; }
    const ids = candidates ? ["a", "b", "c", "d"] : ["item"];
    table.replaceChildren(h("table", { class: "candidates" },
      h("thead", {}, h("tr", {}, candidates && h("th", { scope: "col" }, "id"), names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ids.map((id) => h("tr", { "data-id": id }, candidates && h("th", { scope: "row" }, id), names.map((name) => h("td", {},
        h("input", { type: "number", step: "any", required: true, value: String(random()), "data-name": name, "aria-label": candidates ? `${name} of ${id}` : name }))))))));
  };
  const body = () => {
    const whose = model.keyed ? { key: key.value } : {};
    if (!asks) return whose;
    if (!grid) return { ...JSON.parse(free.value), ...whose };
    const rows = [...table.querySelectorAll("tbody tr")].map((row) => {
      const inputs = [...row.querySelectorAll("input")];
      const named = Array.isArray(model.features);
      return { id: row.dataset.id, features: named ? Object.fromEntries(inputs.map((input) => [input.dataset.name, input.valueAsNumber])) : inputs.map((input) => input.valueAsNumber) };
    });
    return candidates ? { candidates: rows, ...whose } : { features: rows[0].features, ...whose };
  };
  const refuse = (error) => {
    wrong.textContent = sentence(error);
    wrong.hidden = false;
  };
  const take = async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    try {
      const asked = body();
      curl.textContent = `curl -X POST ${location.origin}/v1/models/${model.name}/decisions \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(asked)}'`;
      const decision = await call("POST", `/v1/models/${encodeURIComponent(model.name)}/decisions`, asked);
      const told = await get(`/ui/decisions/${decision.decision}/answers.json`);
      answer.replaceChildren(...reactions(told, decision.explored && loop.words.tells_exploring, (feedback) => react(decision, feedback)));
      announce("A decision was taken. Say what the user did.");
      answer.querySelector("button, input, select")?.focus();
      await refresh();
    } catch (error) { refuse(error); }
  };
  const react = async (decision, feedback) => {
    wrong.hidden = true;
    try {
      const told = await call("POST", `/v1/decisions/${decision.decision}/feedback`, feedback);
      const words = { learnt: `Learnt: the model is at version ${told.model_version.toLocaleString("en")}.`, duplicate: "It knew that already.", late: "Too late: logged, not learnt." }[told.status];
      answer.querySelectorAll("button, input, select").forEach((control) => { control.disabled = true; });
      answer.append(h("p", { class: "said", id: "try-said" }, words));
      announce(words);
      ask.focus();
      await refresh();
    } catch (error) { refuse(error); }
  };

  const ask = h("button", { class: "main", type: "submit", id: "try-ask" }, "Take a decision");
  const form = h("form", { class: "stack", onsubmit: take },
    model.keyed && h("div", { class: "field" }, h("label", { for: "try-key" }, "Whose decision (key)"), key),
    asks && (grid ? table : free),
    h("div", { class: "row" }, ask, asks && h("button", { type: "button", id: "try-shuffle", onclick: fill }, grid ? "Other numbers" : "Another guess")));
  fill();
  const hint = asks ? "Change the numbers, take a decision, then play the user: the curve moves with your feedback." : "Take a decision, then play the user: the curve moves with your feedback.";
  return h("section", { class: "card stack wide", "aria-labelledby": "try-title" },
    h("div", {}, h("h2", { id: "try-title" }, "Try it"), h("p", { class: "hint" }, hint)),
    form, wrong, answer,
    h("details", {}, h("summary", {}, "The same with curl"), h("pre", { tabindex: "0" }, curl)));
}

// How many features by position; a learner that wraps another takes what the other takes.
export const positions = (model) => model.params.dim ?? model.params.learner?.dim;

function featureNames(model) {
  if (Array.isArray(model.features)) return model.features;
  if (model.features?.hashed || model.features?.auto) return null;
  const dim = positions(model);
  return dim === undefined ? [] : dim > WIDEST ? null : Array.from({ length: dim }, (_, i) => `feature ${i + 1}`);
}

function guess(model, loop) {
  if (loop.words.asks === "json") return loop.example.request;
  const one = () => {
    if (model.features?.auto) return { number: random(), word: ["red", "green", "blue"][Math.floor(3 * Math.random())], flag: Math.random() < 0.5 };
    if (model.features?.hashed) return Object.fromEntries(["apple", "banana", "cherry"].map((name) => [name, random()]));
    if (Array.isArray(model.features)) return Object.fromEntries(model.features.map((name) => [name, random()]));
    return Array.from({ length: Math.min(positions(model), 1000) }, random);
  };
  return loop.words.asks === "candidates" ? { candidates: ["a", "b", "c"].map((id) => ({ id, features: one() })) } : { features: one() };
}

function reactions(told, explored, react) {
  const parts = [h("p", {}, told.text, explored && h("span", { class: "hint" }, " It explored."))];
  if (told.ordered) {
    parts.push(h("ol", { class: "answers" }, told.options.map((one) => h("li", {}, h("button", { type: "button", "data-candidate": one.text, onclick: () => react(one.feedback) },
      h("span", {}, one.text), h("span", { class: "hint" }, one.hint))))));
  } else if (told.options.length) {
    parts.push(h("div", { class: "row" }, told.options.map((one) => h("button", { type: "button", class: one.main ? "main" : "", title: one.hint || null, onclick: () => react(one.feedback) }, one.text))));
  }
  if (told.note) parts.push(h("p", { class: "hint" }, told.note));
  if (told.entry) parts.push(entry(told.entry, react));
  return parts;
}

// Something to type in: a number, several of them, a text, or (without a field) the whole feedback as JSON.
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
  return h("form", { class: "row", onsubmit: send }, h("div", { class: "field" }, h("label", { for: "try-value" }, label), value), h("button", { class: "main", type: "submit" }, "Tell it"));
}
