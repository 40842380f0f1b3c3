// /openapi.json as a page: operations by subject, their fields, and calls to copy.
import { token } from "./api.js";
import { announce, by, h } from "./dom.js";
import { examples } from "./examples.js";
import { link as linkGuests } from "./guests.js";
import { loops } from "./loops.js";

const SUBJECTS = [
  ["Models", /^\/v1\/models(\/\{name\})?$/],
  ["Decisions", /^\/v1\/models\/\{name\}\/decisions/],
  ["Feedback and stories", /^\/v1\/(decisions|feedback)/],
  ["Log", /\/log$/],
  ["What a model learned and earned", /^\/v1\/models\/\{name\}\/(weights|health|compare|taste|worth|candidates|segments)/],
  ["Manage models", /^\/v1\/models\/\{name\}[:/]/],
  ["Integrations", /^\/(personalizer|ofrep)/],
  ["Service", /./],
];
const METHODS = ["get", "put", "post", "delete", "patch"];

const LONGEST_REPLY = 20000;
const title = (text) => text[0].toUpperCase() + text.slice(1).replace(/`/g, "");
const prose = (text) => (text ?? "").split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

const link = (schema) => schema.$ref?.split("/").at(-1);

function type(schema) {
  if (!schema) return "";
  if (schema.$ref) return h("a", { href: `#${link(schema)}` }, link(schema));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" · ");
  if (schema.anyOf) return schema.anyOf.flatMap((one, i) => (i ? [" or ", type(one)] : [type(one)]));
  if (schema.type === "array") return schema.items ? ["array of ", type(schema.items)] : "array";
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return ["object of ", type(schema.additionalProperties)];
  return schema.type ?? "any";
}

function limits(schema) {
  const words = { minimum: "≥", maximum: "≤", exclusiveMinimum: ">", exclusiveMaximum: "<", minLength: "characters ≥", maxLength: "characters ≤", minItems: "items ≥", maxItems: "items ≤" };
  const data = Object.entries(words).filter(([key]) => schema[key] !== undefined).map(([key, word]) => `${word} ${schema[key].toLocaleString("en")}`);
  if (schema.default !== undefined && schema.default !== null) data.push(`default ${JSON.stringify(schema.default)}`);
  return data.join(", ");
}

function fields(schema) {
  const required = new Set(schema.required ?? []);
  return h("div", { class: "scroll" }, h("table", { class: "fields" },
    h("thead", {}, h("tr", {}, ["Field", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, Object.entries(schema.properties ?? {}).map(([name, one]) => h("tr", {},
      h("td", {}, h("code", {}, name), required.has(name) && h("span", { class: "hint" }, " required")), h("td", {}, type(one)), h("td", {}, prose(one.description), limits(one) && h("span", { class: "hint" }, ` (${limits(one)})`)))))));
}

function example(title, text) {
  const code = h("code", {}, text);
  const copy = h("button", { type: "button", class: "quiet", "aria-label": `Copy: ${title}`, onclick: async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    announce("Copied");
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return h("div", { class: "stack" }, h("div", { class: "row between" }, h("h3", {}, title), copy), h("pre", { tabindex: "0" }, code));
}

function curl(method, path, body) {
  const lines = [`curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} '${location.origin}${path}'`];
  if (body !== undefined) lines.push("  -H 'content-type: application/json'", `  -d '${JSON.stringify(body)}'`);
  return lines.join(" \\\n");
}

function parameterTable(parameters) {
  return h("div", { class: "scroll" }, h("table", { class: "fields" },
    h("thead", {}, h("tr", {}, ["Parameter", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, parameters.map((one) => h("tr", {},
      h("td", {}, h("code", {}, one.name), h("span", { class: "hint" }, one.in === "path" ? " in the path" : " in the query")), h("td", {}, type(one.schema)), h("td", {}, prose(one.description)))))));
}

// A form that sends the call to this service and shows the reply.
function tryIt(id, method, path, parameters, body) {
  const inputs = parameters.map((one) => [one, h("input", { id: `${id}-${one.name}`, required: one.in === "path", autocomplete: "off" })]);
  const text = body === undefined ? null : h("textarea", { id: `${id}-body`, class: "code", rows: 8, spellcheck: "false", value: JSON.stringify(body, null, 2) });
  const reply = h("pre", { tabindex: "0", hidden: true, "aria-label": "Reply" });
  const send = async (event) => {
    event.preventDefault();
    const query = new URLSearchParams(inputs.filter(([one, input]) => one.in === "query" && input.value).map(([one, input]) => [one.name, input.value])).toString();
    const filled = inputs.filter(([one]) => one.in === "path").reduce((found, [one, input]) => found.replace(`{${one.name}}`, encodeURIComponent(input.value)), path);
    const headers = { ...(token.get() && { authorization: `Bearer ${token.get()}` }), ...(text && { "content-type": "application/json" }) };
    reply.hidden = false;
    try {
      const response = await fetch(filled + (query && `?${query}`), { method: method.toUpperCase(), headers, body: text?.value, cache: "no-store", credentials: "omit" });
      const content = await response.text();
      let shown = content;
      try { shown = JSON.stringify(JSON.parse(content), null, 2); } catch { /* not JSON: as it came */ }
      reply.textContent = `${response.status} ${response.statusText}\n${shown.slice(0, LONGEST_REPLY)}${shown.length > LONGEST_REPLY ? "\n…" : ""}`;
      announce(`The reply has status ${response.status}`);
    } catch (error) {
      reply.textContent = `No reply: ${error.message}`;
    }
  };
  const field = (label, element) => h("p", {}, h("label", { for: element.id }, label), element);
  return h("details", { class: "try" }, h("summary", {}, "Try it"), h("form", { class: "stack", onsubmit: send },
    inputs.map(([one, input]) => field(one.name, input)), text && field("Body", text), h("div", { class: "row" }, h("button", { type: "submit" }, `Send ${method.toUpperCase()}`)), reply));
}

function operation(document, method, path, data, shared, known) {
  const id = `${method}-${path.replace(/[^a-z0-9]+/gi, "-")}`;
  const content = data.requestBody?.content["application/json"]?.schema;
  const body = content?.$ref ? document.components.schemas[link(content)] : content;
  const [good, bad] = [[], []];
  for (const [status, reply] of Object.entries(data.responses)) (status < "400" ? good : bad).push([status, reply.$ref ? document.components.responses[link(reply)] : reply]);
  const parameters = [...(shared ?? []), ...(data.parameters ?? [])];
  const sample = data.requestBody?.content["application/json"]?.example;
  const calls = known[`${method} ${path}`] ?? [{ title: "With curl", path, body: sample }];
  const status = ([code, reply]) => h("tr", {}, h("td", {}, h("code", {}, code)), h("td", {}, reply.description), h("td", {}, type(reply.content?.["application/json"]?.schema)));
  return { id, summary: data.summary, root: h("section", { class: "card stack", id, "aria-labelledby": `${id}-title` },
    h("div", { class: "row" }, h("span", { class: `verb ${method}` }, method), h("span", { class: "path" }, path)),
    h("h2", { id: `${id}-title` }, title(data.summary)),
    data.description && h("p", { class: "muted" }, prose(data.description)),
    parameters.length > 0 && parameterTable(parameters),
    body && h("div", {}, h("h3", {}, "Body: ", h("a", { href: `#${link(content) ?? id}` }, link(content) ?? "object")), fields(body)),
    h("table", { class: "status" }, h("tbody", {}, good.map(status))),
    h("details", {}, h("summary", {}, "Errors"), h("table", { class: "status" }, h("tbody", {}, bad.map(status)))),
    calls.map((one) => example(one.title, curl(method, one.path ?? path, one.body))),
    !data.requestBody || content ? tryIt(id, method, path, parameters, content && (sample ?? {})) : null) };
}

function tokenField() {
  return h("input", { id: "token", type: "password", autocomplete: "off", value: token.get() ?? "", oninput: (event) => token.set(event.target.value.trim()) });
}

async function start() {
  const [document_, known] = await Promise.all([fetch("/openapi.json", { credentials: "omit" }).then((response) => response.json()), loops().then(examples)]);
  const groups = new Map(SUBJECTS.map(([subject]) => [subject, []]));
  for (const [path, item] of Object.entries(document_.paths)) {
    const [subject] = SUBJECTS.find(([, pattern]) => pattern.test(path));
    for (const method of METHODS) if (item[method]) groups.get(subject).push(operation(document_, method, path, item[method], item.parameters, known));
  }
  const schemas = Object.entries(document_.components.schemas);
  const operations = h("nav", { "aria-label": "Operations" },
    [...groups].filter(([, all]) => all.length).map(([subject, all]) => h("div", {}, h("h3", {}, subject), h("ul", {}, all.map((one) => h("li", {}, h("a", { href: `#${one.id}` }, title(one.summary))))))),
    h("div", {}, h("h3", {}, "Bodies"), h("ul", {}, schemas.map(([name]) => h("li", {}, h("a", { href: `#${name}` }, name))))));
  const menu = h("details", { class: "menu", open: innerWidth > 800 }, h("summary", {}, "Contents"), operations);
  const content = h("div", { class: "operations" },
    h("div", { class: "stack" }, h("h1", {}, "API reference"), h("p", { class: "muted" }, `${document_.info.description} Version ${document_.info.version}; the document is `, h("a", { href: "/openapi.json" }, "/openapi.json"), "."),
      h("p", { class: "muted" }, "Requests and replies are JSON. An error has a code, a message and a hint: ", h("code", {}, '{"error": {"code", "message", "hint"}}'), ". Once a token exists, every /v1 call needs one: ", h("code", {}, "-H 'authorization: Bearer TOKEN'"), "."),
      h("p", {}, h("label", { for: "token" }, "Token for Try it, kept in this tab"), tokenField())),
    [...groups].filter(([, all]) => all.length).map(([subject, all]) => [h("h2", {}, subject), all.map((one) => one.root)]),
    h("h2", {}, "Bodies"),
    schemas.map(([name, schema]) => h("section", { class: "card stack", id: name, "aria-label": name }, h("h2", {}, name), schema.description && h("p", { class: "muted" }, prose(schema.description)), fields(schema))));
  by("main").replaceChildren(h("div", { class: "api" }, menu, content));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

linkGuests(document.querySelector("header nav"));
start();
