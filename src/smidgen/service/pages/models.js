// All models at a glance, the form for another one, and what a newcomer sees.
import { get } from "./api.js";
import { createForm } from "./create.js";
import { announce, figure, h, interval, set, sparkline, whole } from "./dom.js";
import { guests } from "./guests.js";
import { badge, idle } from "./health.js";
import { loopOf, loops } from "./loops.js";
import { playSample } from "./sample.js";

function card(name) {
  const parts = {
    loop: h("span", { class: "chip loop" }), learner: h("span", { class: "chip" }), state: h("span", { class: "chip", hidden: true }),
    value: h("div", { class: "big" }), measure: h("div", { class: "hint" }), ends: h("div", { class: "hint" }), spark: h("div"),
    health: badge(), version: h("dd"), decisions: h("dd"), answered: h("dd"), late: h("dd"),
  };
  const counts = [["learnt", parts.version], ["decisions", parts.decisions], ["answered", parts.answered], ["late", parts.late]];
  const root = h("li", {}, h("a", { class: "card", href: `/#model=${encodeURIComponent(name)}` },
    h("div", { class: "row between" }, h("span", { class: "name" }, name), h("span", { class: "row" }, parts.state, parts.loop)),
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
    const nothing = idle(model.findings);
    set(parts.value, nothing ? "–" : figure(loop, model.quality.value));
    set(parts.ends, nothing ? "nothing to learn from" : interval(loop, model.quality));
    parts.health.update(model.findings);
    set(parts.version, whole(model.model_version));
    set(parts.decisions, whole(model.decisions));
    set(parts.answered, model.decisions ? `${Math.round((100 * model.answered) / model.decisions)} %` : "–");
    set(parts.late, whole(model.late));
    const values = nothing ? [] : model.sparkline;
    const line = JSON.stringify(values);
    if (line !== drawn) parts.spark.replaceChildren(sparkline(values));
    drawn = line;
  };
  return { root, update };
}

function welcome(onSample, onCreate) {
  const can = h("p", { class: "muted" }, "Say what it should do and which features it sees.");
  loops().then((known) => set(can, `Say what it should do (${Object.keys(known).join(", ").replace(/, ([^,]*)$/, " or $1")}) and which features it sees.`));
  const visits = h("span", { class: "row" });
  guests().then((known) => visits.append(...known.map(({ title, path }) => h("a", { href: path }, `Try the ${title[0].toLowerCase()}${title.slice(1)}`))));
  const play = h("button", { class: "main", type: "button", id: "play-sample", onclick: onSample }, "Start a sample model");
  return h("section", { class: "card hero", "aria-labelledby": "welcome" },
    h("div", {}, h("h1", { id: "welcome" }, "A decision goes out. A reaction comes back."),
      h("p", { class: "lead" }, "smidgen takes one small step from every reaction of your users, remembers each decision, and shows you here whether it is getting better.")),
    h("ol", { class: "steps" },
      h("li", {}, h("h2", {}, "Create a model"), can,
        h("pre", {}, h("code", {}, "PUT /v1/models/news"))),
      h("li", {}, h("h2", {}, "Ask it, and show what it says"), h("p", { class: "muted" }, "Your app sends candidates and gets a decision with an id."),
        h("pre", {}, h("code", {}, "POST /v1/models/news/decisions"))),
      h("li", {}, h("h2", {}, "Tell it what the user did"), h("p", { class: "muted" }, "A click, a correction, a yes or no: now, tomorrow, or twice. It learns once."),
        h("pre", {}, h("code", {}, "POST /v1/decisions/ID/feedback")))),
    h("div", { class: "row" }, play, h("button", { type: "button", onclick: onCreate }, "Create your own"),
      visits, h("a", { href: "/docs" }, "Read the API")),
    h("p", { class: "hint" }, "The sample is a ranking of articles for 300 simulated readers with a taste that the model does not know. It goes through the same engine as your own app, and you can watch it learn."));
}

export function modelsView(refresh) {
  const cards = new Map();
  const list = h("ul", { class: "models" });
  const more = h("p", { class: "hint", hidden: true });
  const search = h("input", { type: "search", id: "search", placeholder: "Filter by name", "aria-label": "Filter models by name", oninput: () => refresh() });
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
    announce(`${name} has learnt from 300 simulated readers`);
  };
  const greeting = welcome(sample, () => open(true));
  greeting.hidden = true;
  const head = h("div", { class: "row between" }, h("h1", {}, "Models"), h("div", { class: "row" }, h("div", {}, search), toggle));
  const root = h("div", { class: "page" }, greeting, head, form.root, list, more);

  return {
    root,
    async refresh() {
      const [told, known] = await Promise.all([get(`/ui/models.json?q=${encodeURIComponent(search.value)}`), loops()]);
      const none = told.all === 0;
      greeting.hidden = !none;
      head.hidden = none;
      search.parentElement.hidden = told.all < 7;
      const seen = new Set(told.models.map((model) => model.name));
      for (const [name, old] of cards) {
        if (!seen.has(name)) { old.root.remove(); cards.delete(name); }
      }
      told.models.forEach((model, place) => {
        if (!cards.has(model.name)) cards.set(model.name, card(model.name));
        const mine = cards.get(model.name);
        mine.update(model, loopOf(model, known));
        if (list.children[place] !== mine.root) list.insertBefore(mine.root, list.children[place] ?? null);
      });
      more.hidden = told.of <= told.models.length && told.of > 0 || none;
      set(more, told.of === 0 ? "No model has that name." : `${whole(told.of - told.models.length)} more: filter by name.`);
    },
  };
}
