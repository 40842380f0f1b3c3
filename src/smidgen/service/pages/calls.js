// Code examples to copy, in each language that has a client, with the model's own names.
import { announce, h, set } from "./dom.js";
import { token } from "./api.js";

const WIDE = 88;
const JSON_WORDS = { true: "true", false: "false", null: "null" };
const PYTHON_WORDS = { true: "True", false: "False", null: "None" };
const TOKEN = "SMIDGEN_TOKEN";

// A value on one line if it fits, else one entry per line, in the syntax of JSON or Python.
function literal(value, words, indent = "", room = WIDE) {
  if (value === null || typeof value === "boolean") return words[String(value)];
  if (typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const entries = list ? value.map((each) => ["", each]) : Object.entries(value).map(([key, each]) => [`${JSON.stringify(key)}: `, each]);
  const [open, close] = list ? "[]" : "{}";
  const flat = open + entries.map(([key, each]) => key + literal(each, words, "", Infinity)).join(", ") + close;
  if (flat.length <= room - indent.length || !entries.length) return flat;
  const inner = `${indent}  `;
  return `${open}\n${entries.map(([key, each]) => inner + key + literal(each, words, inner, room)).join(",\n")}\n${indent}${close}`;
}

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(method, path, body) {
  const lines = [`curl -X ${method} ${shell(location.origin + path)}`];
  if (token.get()) lines.push(`  -H "authorization: Bearer $${TOKEN}"`);
  if (body !== undefined) lines.push("  -H 'content-type: application/json'", `  -d ${shell(literal(body, JSON_WORDS))}`);
  return lines.join(" \\\n");
}

const argument = ([name, value]) => `${name}=${literal(value, PYTHON_WORDS, "    ")}`;
function called(start, parts, end = ")") {
  const flat = start + parts.join(", ") + end;
  return flat.length <= WIDE && !flat.includes("\n") ? flat : `${start}\n    ${parts.join(",\n    ")},\n${end}`;
}

const curlSteps = ({ name, body, request, feedback }) => ({
  create: body && curl("PUT", `/v1/models/${encodeURIComponent(name)}`, body),
  decide: curl("POST", `/v1/models/${encodeURIComponent(name)}/decisions`, request),
  feedback: curl("POST", "/v1/decisions/DECISION/feedback", feedback),
});

function pythonSteps({ name, body, request, feedback, answer }) {
  const secret = token.get() ? `, token=os.environ["${TOKEN}"]` : "";
  const client = `${secret ? "import os\n\n" : ""}import smidgen\n\nclient = smidgen.Client(${JSON.stringify(location.origin)}${secret})`;
  const { candidates, ...rest } = request;
  const ids = Array.isArray(candidates) && candidates.every(({ id, features, ...more }) => typeof id === "string" && !Object.keys(more).length);
  const first = ids ? [literal(Object.fromEntries(candidates.map(({ id, features = null }) => [id, features])), PYTHON_WORDS, "    ")] : [];
  const more = ids ? rest : request;
  return {
    create: `${client}\n${called("model = client.create(", [JSON.stringify(name), ...Object.entries(body ?? {}).map(argument)])}`,
    decide: `${body ? "" : `${client}\nmodel = client.model(${JSON.stringify(name)})\n`}${called("d = model.decide(", [...first, ...Object.entries(more).map(argument)])}\nprint(d.${answer})`,
    feedback: called("model.learn(", ["d", ...Object.entries(feedback).map(argument)]),
  };
}

function typescriptSteps({ name, body, request, feedback, answer }) {
  const secret = token.get() ? `, { token: process.env.${TOKEN} }` : "";
  const client = `import { Client } from "smidgen-client";\n\nconst client = new Client(${JSON.stringify(location.origin)}${secret});`;
  const json = (value) => literal(value, JSON_WORDS);
  return {
    create: `${client}\nconst model = await client.create(${JSON.stringify(name)}, ${json(body ?? {})});`,
    decide: `${body ? "" : `${client}\nconst model = client.model(${JSON.stringify(name)});\n`}const d = await model.decide(${json(request)});\nconsole.log(d.${answer});`,
    feedback: `await model.learn(d, ${json(feedback)});`,
  };
}

// To add a language, add a line: its name, its calls, a note.
const LANGUAGES = [
  ["curl", curlSteps, "DECISION is the id in the reply to the second call."],
  ["Python", pythonSteps, "Install the client with pip install 'smidgen[client]'. d is the reply to the second call, or its id."],
  ["TypeScript", typescriptSteps, "The client is in clients/typescript. d is the reply to the second call, or its id. Never put a token into a web page."],
];
const STEPS = { create: "Create the model once", decide: "Request a decision and show it", feedback: "Send what the user did, now or later; duplicates are ignored" };

async function copy(text, code) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // pages without TLS have no clipboard
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  announce("Copied");
}

function snippet(title, id) {
  const code = h("code", { id });
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Copy: ${title}`, onclick: async () => {
    await copy(code.textContent, code);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  const root = h("div", { class: "stack tight" }, h("div", { class: "row between" }, h("h3", {}, title), button), h("pre", { tabindex: "0", "aria-label": title }, code));
  return { root, code };
}

// Tabs by language with the calls; `update` fills them again.
export function callsPart() {
  let [plan, chosen] = [null, 0];
  const parts = Object.fromEntries(Object.entries(STEPS).map(([step, title]) => [step, snippet(title, `call-${step}`)]));
  const note = h("p", { class: "hint" });
  const panel = h("div", { class: "stack", role: "tabpanel", id: "calls-panel", "aria-labelledby": "calls-tab-0" }, Object.values(parts).map(({ root }) => root), note);
  const tabs = LANGUAGES.map(([language], i) => h("button", { type: "button", role: "tab", id: `calls-tab-${i}`, "aria-controls": "calls-panel", onclick: () => pick(i), onkeydown: (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (way) { pick((i + way + tabs.length) % tabs.length); tabs[chosen].focus(); }
  } }, language));
  const draw = () => {
    if (!plan) return;
    const data = LANGUAGES[chosen][1](plan);
    for (const [step, part] of Object.entries(parts)) {
      part.root.hidden = !data[step] || (step === "create" && !plan.body);
      set(part.code, data[step] ?? "");
    }
    set(note, LANGUAGES[chosen][2]);
  };
  const pick = (i) => {
    chosen = i;
    tabs.forEach((tab, j) => { tab.setAttribute("aria-selected", String(i === j)); tab.tabIndex = i === j ? 0 : -1; });
    panel.setAttribute("aria-labelledby", `calls-tab-${i}`);
    draw();
  };
  pick(0);
  const root = h("div", { class: "stack calls" }, h("div", { class: "tabs", role: "tablist", "aria-label": "Language" }, tabs), panel);
  return { root, update(next) { plan = next; draw(); } };
}

// The calls of an existing model, on its page.
export function callsCard() {
  const part = callsPart();
  const root = h("details", { class: "card calls-card full" }, h("summary", {}, h("h2", {}, "Use this model from your app")), part.root);
  return { root, update: part.update };
}
