// The models as a table or as cards, with sorting and filters; the form for a new one; the welcome page.
import { get } from "./api.js";
import { createForm } from "./create.js";
import { ago, announce, figure, h, interval, middle, set, sparkline, whole } from "./dom.js";
import { guests } from "./guests.js";
import { badge, idle } from "./health.js";
import { loopOf, loops } from "./loops.js";
import { playSample } from "./sample.js";
import { tellWorkers } from "./workers.js";

const FEW = 7; // fewer models need no sorting
const MANY = 12; // more models begin as a table
// The columns of the table: the order that each sorts by, and its heading.
const COLUMNS = [["name", "Model"], ["loop", "Loop"], ["health", "Health"], ["quality", "Quality"], ["", "Curve"], ["decisions", "Decisions"], ["", "Feedback"], ["activity", "Last active"]];
const ORDERS = [["created", "newest first"], ["activity", "last active"], ["name", "name"], ["loop", "loop"], ["decisions", "most decisions"], ["quality", "best quality first"], ["health", "problems first"]];

function card(name) {
  const parts = {
    loop: h("span", { class: "chip loop" }), learner: h("span", { class: "chip" }), state: h("span", { class: "chip", hidden: true }),
    value: h("div", { class: "big" }), measure: h("div", { class: "hint" }), ends: h("div", { class: "hint" }), spark: h("div"),
    health: badge(), version: h("dd"), decisions: h("dd"), answered: h("dd"), active: h("dd"),
  };
  const counts = [["learned", parts.version], ["decisions", parts.decisions], ["feedback", parts.answered], ["last active", parts.active]];
  const root = h("li", {}, h("a", { class: "card", href: `/#model=${encodeURIComponent(name)}` },
    h("div", { class: "row between title" }, h("span", { class: "name", title: name }, middle(name, 60)), h("span", { class: "row" }, parts.state, parts.loop)),
    h("div", { class: "row" }, parts.learner, parts.health.root),
    h("div", { class: "figure" }, h("div", {}, parts.measure, parts.value, parts.ends), parts.spark),
    h("dl", {}, counts.map(([term, value]) => h("div", {}, h("dt", {}, term), value)))));
  let drawn = "";
  const update = (model, loop) => {
    set(parts.loop, model.loop);
    set(parts.learner, model.learner + (model.keyed ? ` · ${whole(model.keys)} keys` : ""));
    parts.state.hidden = !model.archived_at;
    set(parts.state, "archived");
    set(parts.measure, model.quality.measure);
    const nothing = idle(model.findings); // what is known is shown, also before the health has been checked
    set(parts.value, nothing ? "–" : figure(loop, model.quality.value));
    set(parts.ends, nothing ? "nothing to learn from" : interval(loop, model.quality) + (model.judged || !model.decisions ? "" : " · health not checked yet"));
    parts.health.update(model.findings);
    set(parts.version, whole(model.model_version));
    set(parts.decisions, whole(model.decisions));
    set(parts.answered, model.decisions ? `${Math.round((100 * model.answered) / model.decisions)} %` : "–");
    set(parts.active, ago(model.last_activity_at));
    const values = nothing ? [] : model.sparkline;
    const line = JSON.stringify(values);
    if (line !== drawn) parts.spark.replaceChildren(sparkline(values));
    drawn = line;
  };
  return { root, update };
}

// One model as a row of the table.
function line(name) {
  const parts = Object.fromEntries(["loop", "quality", "ends", "spark", "decisions", "answered", "active"].map((part) => [part, h("div", part === "ends" ? { class: "hint" } : {})]));
  const [health, state] = [badge(), h("span", { class: "chip", hidden: true }, "archived")];
  const root = h("tr", {}, h("th", { scope: "row" }, h("a", { href: `/#model=${encodeURIComponent(name)}`, title: name, class: "name" }, middle(name, innerWidth < 600 ? 22 : 40)), " ", state),
    h("td", { class: "muted" }, parts.loop), h("td", {}, health.root), h("td", {}, parts.quality, parts.ends), h("td", {}, parts.spark),
    ["decisions", "answered", "active"].map((part) => h("td", {}, parts[part])));
  let drawn = "";
  const update = (model, loop) => {
    const nothing = idle(model.findings);
    set(parts.loop, model.loop);
    state.hidden = !model.archived_at;
    health.update(model.findings);
    set(parts.quality, nothing ? "–" : figure(loop, model.quality.value));
    set(parts.ends, nothing ? "nothing to learn from" : model.quality.measure);
    set(parts.decisions, whole(model.decisions));
    set(parts.answered, model.decisions ? `${Math.round((100 * model.answered) / model.decisions)} %` : "–");
    set(parts.active, ago(model.last_activity_at));
    const values = JSON.stringify(nothing ? [] : model.sparkline);
    if (values !== drawn) parts.spark.replaceChildren(sparkline(JSON.parse(values)));
    drawn = values;
  };
  return { root, update };
}

function welcome(onSample, onCreate) {
  const can = h("p", { class: "muted" }, "Choose the kind of decision and the kind of feedback.");
  loops().then((known) => {
    const out = Object.values(known).map(({ name, words }) => (words.out ? words.out[0].toLowerCase() + words.out.slice(1) : name));
    set(can, `Choose what the model decides (${out.join(", ").replace(/, ([^,]*)$/, " or $1")}) and what feedback you have.`);
  });
  const visits = h("span", { class: "row" });
  guests().then((known) => visits.append(...known.map(({ title, path }) => h("a", { href: path }, `Try the ${title[0].toLowerCase()}${title.slice(1)}`))));
  const play = h("button", { class: "main", type: "button", id: "play-sample", onclick: onSample }, "Start a sample model");
  return h("section", { class: "card hero", "aria-labelledby": "welcome" },
    h("div", {}, h("h1", { id: "welcome" }, "Decisions that learn from feedback"),
      h("p", { class: "lead" }, "smidgen learns from each feedback of your users at once, logs every decision, and shows here whether quality improves.")),
    h("ol", { class: "steps" },
      h("li", {}, h("h2", {}, "Create a model"), can,
        h("pre", {}, h("code", {}, "PUT /v1/models/news"))),
      h("li", {}, h("h2", {}, "Request a decision"), h("p", { class: "muted" }, "Your app sends what it knows and receives a decision with an id."),
        h("pre", {}, h("code", {}, "POST /v1/models/news/decisions"))),
      h("li", {}, h("h2", {}, "Send feedback"), h("p", { class: "muted" }, "A click, a correction, a yes or no, now or tomorrow. Duplicates are learned once."),
        h("pre", {}, h("code", {}, "POST /v1/decisions/ID/feedback")))),
    h("div", { class: "row" }, play, h("button", { type: "button", onclick: onCreate }, "Create a model"),
      visits, h("a", { href: "/docs" }, "API reference")),
    h("p", { class: "hint" }, "The sample ranks articles for 300 simulated readers whose preferences the model does not know. It uses the same engine as your own models, so you can watch it learn."));
}

// Sorting and filters of the list; the URL holds them, so that it can be shared.
function controls(changed) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const search = h("input", { type: "search", id: "search", placeholder: "Filter by name", "aria-label": "Filter models by name", value: asked.get("q") ?? "" });
  const sort = h("select", { id: "sort", "aria-label": "Sort models by" }, ORDERS.map(([value, text]) => h("option", { value }, text)));
  const loop = h("select", { id: "only-loop", "aria-label": "Filter models by loop" }, h("option", { value: "" }, "all loops"));
  const ill = h("input", { type: "checkbox", id: "only-ill", checked: asked.get("health") === "ill" });
  sort.value = ORDERS.some(([value]) => value === asked.get("sort")) ? asked.get("sort") : "created";
  let wanted = asked.get("loop") ?? "";
  let view = asked.get("view") ?? "";
  const views = h("div", { class: "tabs", role: "group", "aria-label": "Show models as" }, ["cards", "table"].map((kind) => h("button", { type: "button", id: `as-${kind}`, onclick: () => { view = kind; moved(); } }, kind === "table" ? "Table" : "Cards")));
  const query = () => {
    const said = { q: search.value, loop: wanted, health: ill.checked ? "ill" : "", view, sort: sort.value === "created" ? "" : sort.value };
    return new URLSearchParams(Object.entries(said).filter(([, value]) => value)).toString();
  };
  const moved = () => {
    wanted = loop.value;
    const text = query();
    history.replaceState(null, "", text ? `/#${text}` : "/#");
    changed();
  };
  for (const control of [search, sort, loop, ill]) control.addEventListener("input", moved);
  const root = h("div", { class: "row sorting", hidden: true }, search, sort, loop, h("label", { class: "row", for: "only-ill" }, ill, "with problems only"), views);
  const sortBy = (order) => { sort.value = order; moved(); };
  const update = (reply) => {
    shape = view || (reply.all > MANY ? "table" : "cards");
    for (const button of views.children) button.setAttribute("aria-selected", String(button.id === `as-${shape}`));
    root.hidden = reply.all < FEW && !query();
    const names = ["", ...reply.loops];
    if (loop.options.length !== names.length) loop.replaceChildren(...names.map((name) => h("option", { value: name }, name || "all loops")));
    if (names.includes(wanted)) loop.value = wanted;
  };
  const clear = () => { [search.value, loop.value, ill.checked] = ["", "", false]; moved(); };
  let shape = "cards";
  return { root, query, update, clear, sortBy, order: () => sort.value, shape: () => shape };
}

export function modelsView(refresh) {
  const cards = new Map();
  const list = h("ul", { class: "models" });
  const rows = h("tbody");
  const heads = COLUMNS.map(([order, text]) => h("th", { scope: "col", "data-order": order || null }, order ? h("button", { type: "button", onclick: () => sorting.sortBy(order) }, text) : text));
  const table = h("div", { class: "card", hidden: true }, h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, heads)), rows)));
  const none = h("p", { class: "card empty", hidden: true }, h("span", {}, "No model matches the filters."), h("button", { type: "button", class: "link", onclick: () => sorting.clear() }, "Clear the filters"));
  const more = h("button", { type: "button", hidden: true, onclick: () => { shown += 100; refresh(); } });
  let [shown, drawnAs] = [100, ""];
  const sorting = controls(() => { shown = 100; refresh(); });
  const toggle = h("button", { type: "button", class: "main", id: "new-model", "aria-expanded": "false", onclick: () => open(form.root.hidden) }, "New model");
  const form = createForm(refresh);
  form.root.hidden = true;
  const open = (yes) => {
    form.root.hidden = !yes;
    toggle.setAttribute("aria-expanded", String(yes));
    if (yes) form.focus();
  };
  const sample = async () => {
    const name = await playSample(300, refresh, (model) => { location.hash = `model=${model}`; });
    announce(`${name} has learned from 300 simulated readers`);
  };
  const greeting = welcome(sample, () => open(true));
  greeting.hidden = true;
  const count = h("span", { class: "hint" });
  const head = h("div", { class: "row between" }, h("h1", {}, "Models ", count), toggle);
  const workers = h("p", { class: "hint", id: "workers", hidden: true });
  const root = h("div", { class: "page" }, greeting, head, sorting.root, form.root, list, table, none, h("div", { class: "row" }, more), workers);

  return {
    root,
    async refresh() {
      const pages = Array.from({ length: shown / 100 }, (_, i) => get(`/ui/models.json?${sorting.query()}&after=${100 * i}`));
      const [known, reply, ...rest] = await Promise.all([loops(), ...pages]);
      const models = [reply, ...rest].flatMap((page) => page.models);
      const empty = reply.all === 0;
      greeting.hidden = !empty;
      head.hidden = empty;
      sorting.update(reply);
      tellWorkers(workers, reply.workers);
      set(count, reply.all >= FEW ? (reply.of < reply.all ? `${whole(reply.of)} of ${whole(reply.all)}` : whole(reply.all)) : "");
      const as = sorting.shape();
      const [holder, make] = as === "table" ? [rows, line] : [list, card];
      [list.hidden, table.hidden] = [as === "table", as !== "table" || !models.length];
      for (const head of heads) {
        if (head.dataset.order === sorting.order()) head.setAttribute("aria-sort", ["name", "loop"].includes(head.dataset.order) ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      }
      if (as !== drawnAs) { [rows, list].forEach((each) => each.replaceChildren()); cards.clear(); }
      drawnAs = as;
      const seen = new Set(models.map((model) => model.name));
      for (const [name, old] of cards) {
        if (!seen.has(name)) { old.root.remove(); cards.delete(name); }
      }
      models.forEach((model, place) => {
        if (!cards.has(model.name)) cards.set(model.name, make(model.name));
        const mine = cards.get(model.name);
        mine.update(model, loopOf(model, known));
        if (holder.children[place] !== mine.root) holder.insertBefore(mine.root, holder.children[place] ?? null);
      });
      none.hidden = empty || reply.of > 0;
      more.hidden = reply.of <= models.length;
      set(more, `${whole(reply.of - models.length)} more`);
    },
  };
}
