// /openapi.json as a page: operations by subject, their fields, and calls to copy.
import { announce, by, h } from "./dom.js";
import { examples } from "./examples.js";
import { link as linkGuests } from "./guests.js";
import { loops } from "./loops.js";

const SUBJECTS = [
  ["Models", /^\/v1\/models(\/\{name\})?$/],
  ["Decisions", /^\/v1\/models\/\{name\}\/decisions/],
  ["Feedback and stories", /^\/v1\/(decisions|feedback)/],
  ["Log", /\/log$/],
  ["Weights, health and comparison", /^\/v1\/models\/\{name\}\/(weights|health|compare|taste)/],
  ["Manage models", /^\/v1\/models\/\{name\}[:/]/],
  ["Integrations", /^\/(personalizer|ofrep)/],
  ["Service", /./],
];
const METHODS = ["get", "put", "post", "delete", "patch"];

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
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Field", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, Object.entries(schema.properties ?? {}).map(([name, one]) => h("tr", {},
      h("td", {}, h("code", {}, name), required.has(name) && h("span", { class: "hint" }, " required")), h("td", {}, type(one)), h("td", {}, one.description, limits(one) && h("span", { class: "hint" }, ` (${limits(one)})`)))))));
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

function operation(document, method, path, data, shared, known) {
  const id = `${method}-${path.replace(/[^a-z0-9]+/gi, "-")}`;
  const content = data.requestBody?.content["application/json"]?.schema;
  const body = content?.$ref ? document.components.schemas[link(content)] : content;
  const [good, bad] = [[], []];
  for (const [status, reply] of Object.entries(data.responses)) (status < "400" ? good : bad).push([status, reply.$ref ? document.components.responses[link(reply)] : reply]);
  const parameters = [...(shared ?? []), ...(data.parameters ?? [])];
  const calls = known[`${method} ${path}`] ?? [{ title: "With curl", path }];
  const status = ([code, reply]) => h("tr", {}, h("td", {}, h("code", {}, code)), h("td", {}, reply.description), h("td", {}, type(reply.content?.["application/json"]?.schema)));
  return { id, summary: data.summary, root: h("section", { class: "card stack", id, "aria-labelledby": `${id}-title` },
    h("div", { class: "row" }, h("span", { class: `verb ${method}` }, method), h("span", { class: "path" }, path)),
    h("h2", { id: `${id}-title` }, data.summary[0].toUpperCase() + data.summary.slice(1)),
    parameters.length > 0 && h("p", { class: "hint" }, "Parameters: ", parameters.flatMap((one, i) => [i ? ", " : "", h("code", {}, one.name), ` (${one.in})`])),
    body && h("div", {}, h("h3", {}, "Body: ", h("a", { href: `#${link(content) ?? id}` }, link(content) ?? "object")), fields(body)),
    h("table", { class: "status" }, h("tbody", {}, good.map(status))),
    h("details", {}, h("summary", {}, "Errors"), h("table", { class: "status" }, h("tbody", {}, bad.map(status)))),
    calls.map((one) => example(one.title, curl(method, one.path ?? path, one.body)))) };
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
    [...groups].filter(([, all]) => all.length).map(([subject, all]) => h("div", {}, h("h3", {}, subject), h("ul", {}, all.map((one) => h("li", {}, h("a", { href: `#${one.id}` }, one.summary)))))),
    h("div", {}, h("h3", {}, "Bodies"), h("ul", {}, schemas.map(([name]) => h("li", {}, h("a", { href: `#${name}` }, name))))));
  const menu = h("details", { class: "menu", open: innerWidth > 800 }, h("summary", {}, "Contents"), operations);
  const content = h("div", { class: "operations" },
    h("div", { class: "stack" }, h("h1", {}, "API reference"), h("p", { class: "muted" }, `${document_.info.description} Version ${document_.info.version}; the document is `, h("a", { href: "/openapi.json" }, "/openapi.json"), "."),
      h("p", { class: "muted" }, "Requests and replies are JSON. An error has a code, a message and a hint: ", h("code", {}, '{"error": {"code", "message", "hint"}}'), ". Once a token exists, every /v1 call needs one: ", h("code", {}, "-H 'authorization: Bearer TOKEN'"), ".")),
    [...groups].filter(([, all]) => all.length).map(([subject, all]) => [h("h2", {}, subject), all.map((one) => one.root)]),
    h("h2", {}, "Bodies"),
    schemas.map(([name, schema]) => h("section", { class: "card stack", id: name, "aria-label": name }, h("h2", {}, name), schema.description && h("p", { class: "muted" }, schema.description), fields(schema))));
  by("main").replaceChildren(h("div", { class: "api" }, menu, content));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

linkGuests(document.querySelector("header nav"));
start();
