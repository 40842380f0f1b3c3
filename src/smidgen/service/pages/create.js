// The form for a new model, in the app's language: what goes out, what comes back, and the calls that do it.
import { call, get, sentence } from "./api.js";
import { callsPart } from "./calls.js";
import { announce, h, set } from "./dom.js";
import { choice, field, group, named, names } from "./fields.js";
import { knobsEditor } from "./knobs.js";
import { loops } from "./loops.js";
import { reaction, request, samples } from "./request.js";

const NAME = "[A-Za-z0-9][A-Za-z0-9._\\-]*";
const UNITS = [["60", "minutes"], ["3600", "hours"], ["86400", "days"]];
const number = (attributes = {}) => h("input", { type: "number", step: "any", ...attributes });
const options = (pairs) => pairs.map(([value, text]) => h("option", { value }, text));

export function createForm(refresh) {
  let [learners, known] = [null, null];
  const loopNow = () => known[out.value()];
  const backNow = () => loopNow().back.find((each) => each.feedback === back.value()) ?? loopNow().back[0];
  const entry = () => learners[out.value()].find((one) => one.name === (learner.control.value || backNow().learner));
  const asksFeatures = () => entry().features && !loopNow().own_features;
  const usuallyShared = () => !learner.control.value; // what the service does if nobody says
  const takes = (setting) => loopNow().settings.includes(setting);

  const name = field("Name", "new-name", h("input", { required: true, maxlength: 100, pattern: NAME, autocomplete: "off", placeholder: "news" }), "Letters, digits, dots, dashes, underscores.");
  const out = choice("What goes out?", "new-loop", () => chooseLoop());
  const back = choice("What comes back?", "new-feedback", () => chooseBack());
  const labels = field("The labels", "new-labels", h("textarea", { rows: 2, placeholder: "spam, work, family" }), "Separated by commas, or one on each line. More can be added later.");
  const knobs = knobsEditor(() => draw());
  const knobsGroup = group("The knobs", "new-knobs", knobs.root, "In your own units. By factors: from 0.01 to 0.1 is as far as from 1 to 10.", () => knobs.root.querySelector("input"));
  const item = field("What your app knows of each one", "new-item", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "One record as your app has it, for the calls below. Numbers, words, yes or no, lists, objects: the model finds out which matter.");
  const context = field("What it knows of the moment, or of the user", "new-context", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "The same for all of them. {} if there is nothing.");
  const features = field("Feature names", "new-features", h("textarea", { rows: 2, placeholder: "bm25, freshness, popularity" }), "In order, separated by commas.");
  const count = field("How many features", "new-count", number({ min: 1, max: 16777216, step: 1, value: "10" }));
  item.control.value = '{"topic": "art", "price": 12.5}';
  context.control.value = '{"device": "phone", "hour": 9}';

  // Folded away
  const kind = field("Features come", "new-kind", h("select", {}, options([["records", "as records, as the app has them"], ["names", "as numbers by name"], ["dim", "as numbers by position"], ["hashed", "as hashed names"]])));
  const texts = field("Fields that are texts", "new-text", h("input", { placeholder: "title, body", autocomplete: "off" }), "Their words count, one by one.");
  const learner = field("Learner", "new-learner", h("select"));
  const about = h("span", { class: "hint" });
  const span = number({ min: 0 });
  const unit = h("select", { id: "new-unit", "aria-label": "Unit of the window" }, options(UNITS));
  unit.value = "3600";
  const windowField = field("Feedback is learnt for", "new-window", span, "Later feedback is logged and not learnt. Left empty: a day, or ten minutes where silence counts.");
  span.after(unit);
  windowField.root.classList.add("joined");
  const silence = field("Silence counts as a reward of", "new-silence", number({ placeholder: "nothing is learnt from it" }), "Learnt once the window is over; 0 if nobody cared.");
  const [low, high] = [number({ value: "0", "aria-label": "The worst reward" }), number({ value: "1", "aria-label": "The best reward" })];
  const range = group("Rewards run", "new-range", h("div", { class: "from-to" }, "from", low, "to", high), "", () => low);
  const explore = field("Share of exploration", "new-explore", number({ min: 0, max: 1, placeholder: "as the learner has it" }), "Spread evenly over all; 0: always the best guess.");
  const least = field("Least share of each candidate", "new-least", number({ min: 0, max: 1, placeholder: "none" }));
  const keyed = h("input", { type: "checkbox", id: "new-keyed" });
  const shared = h("input", { type: "checkbox", id: "new-shared", checked: true });
  const ids = h("input", { type: "checkbox", id: "new-ids", checked: true });
  const check = (control, label, hint) => h("div", { class: "field" }, h("span", { class: "row" }, control, h("label", { for: control.id }, label)), h("span", { class: "hint" }, hint));
  const keeping = h("input", { type: "checkbox", id: "new-keep", checked: true });
  const boxes = { keyed: check(keyed, "One learner per user", "Each decision then says whose it is (key)."), shared: check(shared, "New users start from what all users taught", "Else every user begins with nothing."), ids: check(ids, "A candidate's id counts as a feature", "So that two with the same features can be told apart."), keep: check(keeping, "The log keeps the texts", "Else only what is learnt from them, and stories say less.") };
  const shards = field("Shards", "new-shards", number({ min: 1, max: 64, step: 1, placeholder: "1" }), "More, up to 64, let several workers write for different users at once. The price: users share names and a start only within their shard, versions count per shard, a rollback goes to a moment only, and the number is fixed.");
  const params = field("Settings of the learner", "new-params", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "JSON.");
  const optional = h("span", { class: "hint" });

  // By the names that the service has for them.
  const fields = { name, loop: out, feedback: back, labels, n_classes: labels, knobs: knobsGroup, space: knobsGroup, features, text: texts, dim: count, hashed: count, learner, window_s: windowField, default_reward: silence, reward_range: range, explore, floor: explore, min_share: least, shards, params };
  const all = [...new Set([...Object.values(fields), item, context])];
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const calls = callsPart();

  const chooseLoop = () => {
    back.fill(loopNow().back.map(({ feedback, title, note }) => ({ value: feedback, title, note })));
    kind.control.value = loopNow().records ? "records" : "names";
    kind.control.options[0].disabled = !loopNow().records;
    chooseBack();
  };
  const chooseBack = () => {
    const first = backNow();
    const fitting = learners[out.value()].filter((one) => one.kinds.includes(first.feedback));
    learner.control.replaceChildren(h("option", { value: first.recommended ? "" : first.learner }, `${first.learner}, to begin with`), ...fitting.filter((one) => one.name !== first.learner).map((one) => h("option", { value: one.name }, one.name)));
    chooseLearner();
  };
  const chooseLearner = () => {
    const one = entry();
    shared.checked = usuallyShared();
    set(about, `Learns from: ${one.feedback}. ${one.paper}.`);
    const own = loopNow().words.knobs ? Object.fromEntries(Object.entries(one.params).filter(([setting]) => setting !== "space")) : one.params;
    params.control.value = learner.control.value && Object.keys(own).length ? JSON.stringify(own, null, 1).replace(/\n\s*/g, " ") : "{}";
    const may = Object.entries(one.optional).map(([key, value]) => `${key} (${JSON.stringify(value)})`).join(", ");
    set(optional, may ? `May have: ${may}.` : "");
    arrange();
  };
  const arrange = () => {
    const { words } = loopNow();
    const has = asksFeatures();
    const records = has && kind.control.value === "records";
    const show = (part, yes) => { part.root.hidden = !yes; };
    labels.root.hidden = !words.labels;
    show(knobsGroup, words.knobs);
    show(kind, has);
    show(features, has && kind.control.value === "names");
    show(count, has && ["dim", "hashed"].includes(kind.control.value));
    show(item, records);
    show(context, records && words.asks === "candidates");
    show(texts, records);
    set(item.root.querySelector("label"), words.asks === "candidates" ? "What your app knows of each one" : "What your app knows of it");
    const fits = new Set([...backNow().settings, ...entry().settings]);
    for (const [setting, part] of [["default_reward", silence], ["reward_range", range], ["explore", explore], ["min_share", least]]) show(part, fits.has(setting));
    boxes.shared.hidden = !(takes("shared_start") && keyed.checked);
    show(shards, takes("shards") && keyed.checked);
    boxes.keep.hidden = !(loopNow().texts && takes("keep_texts"));
    boxes.ids.hidden = !(records && words.asks === "candidates");
    draw();
  };

  const parsed = (part, fallback) => {
    try {
      const value = JSON.parse(part.control.value || "{}");
      if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("it is no object");
      return value;
    } catch (error) {
      if (fallback !== undefined) return fallback;
      part.fail(`This is not a record in JSON: ${error.message}.`);
      return null;
    }
  };
  // The body of PUT; `strict` says at the fields what is wrong and gives null.
  const body = (strict) => {
    const has = asksFeatures();
    const made = { loop: out.value(), feedback: back.value() };
    if (learner.control.value) made.learner = learner.control.value;
    const settings = parsed(params, strict ? undefined : {});
    if (settings === null) return null;
    const refuse = (part, text) => (strict ? (part.fail(text), true) : false);
    if (has && kind.control.value === "records" && names(texts.control.value).length) made.features = { auto: { text: names(texts.control.value) } };
    if (has && kind.control.value === "names") {
      made.features = names(features.control.value);
      if (!made.features.length && refuse(features, "Name at least one feature.")) return null;
    }
    if (has && kind.control.value === "dim") (settings.learner ?? settings).dim = Number(count.control.value);
    if (has && kind.control.value === "hashed") made.features = { hashed: Number(count.control.value) };
    if (loopNow().words.labels) {
      made.labels = names(labels.control.value);
      if (made.labels.length < 2 && refuse(labels, "Give at least two labels.")) return null;
      if (!made.labels.length) made.labels = ["spam", "work"];
    }
    if (loopNow().words.knobs) {
      if (strict && knobs.wrong()) { knobsGroup.fail(knobs.wrong()); return null; }
      if (takes("knobs")) made.knobs = knobs.value();
      else settings.space = knobs.space();
    }
    if (Object.keys(settings).length) made.params = settings;
    if (span.value) made.window_s = Number(span.value) * Number(unit.value);
    if (keyed.checked) made.keyed = true;
    if (keyed.checked && takes("shared_start") && shared.checked !== usuallyShared()) made.shared_start = shared.checked;
    if (!boxes.keep.hidden && !keeping.checked) made.keep_texts = false;
    if (!boxes.ids.hidden && !ids.checked) made.id_feature = false;
    for (const [setting, part] of [["default_reward", silence], ["explore", explore], ["min_share", least], ["shards", shards]]) {
      if (!part.root.hidden && part.control.value !== "") made[setting] = part.control.valueAsNumber;
    }
    if (!range.root.hidden && (low.valueAsNumber !== 0 || high.valueAsNumber !== 1)) made.reward_range = [low.valueAsNumber, high.valueAsNumber];
    return made;
  };
  const sample = () => (item.root.hidden ? null : { item: parsed(item, {}), context: parsed(context, {}) });
  const plan = () => {
    const made = body(false);
    const model = { ...made, params: made.params ?? {} };
    const asked = request(model, loopNow(), { sample: sample(), many: 2 });
    return { name: name.control.value || "news", body: made, request: made.keyed ? { key: "ann", ...asked } : asked, feedback: reaction(backNow(), model, asked), answer: loopNow().answer[0] };
  };
  const draw = () => known && calls.update(plan());

  const send = async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    for (const part of all) part.clear();
    if (!name.control.checkValidity()) return name.fail("Give it a name: letters, digits, dots, dashes and underscores, a letter or digit first.");
    if (!item.root.hidden && (parsed(item) === null || (!context.root.hidden && parsed(context) === null))) return;
    const content = body(true);
    if (content === null) return;
    try {
      if (sample()) samples.set(name.control.value, sample());
      const made = await call("PUT", `/v1/models/${encodeURIComponent(name.control.value)}`, content);
      announce(`Model ${made.name} is ready`);
      location.hash = `model=${encodeURIComponent(made.name)}`;
    } catch (error) {
      const at = error.status === 409 ? name : named(error.message, fields);
      if (at && !at.root.hidden) return at.fail(sentence(error));
      wrong.textContent = sentence(error);
      wrong.hidden = false;
      await refresh();
    }
  };
  const cancel = () => {
    root.hidden = true;
    const opener = document.getElementById("new-model");
    opener?.setAttribute("aria-expanded", "false");
    opener?.focus();
  };

  const root = h("form", { class: "card stack create", "aria-labelledby": "new-title", novalidate: true, onsubmit: send, oninput: () => draw() },
    h("h2", { id: "new-title" }, "A new model"),
    name.root, out.root, back.root, labels.root, knobsGroup.root,
    h("div", { class: "pair" }, item.root, context.root), features.root, count.root,
    h("details", { class: "advanced" }, h("summary", {}, "More settings"), h("div", { class: "stack" },
      h("div", { class: "pair" }, h("div", { class: "field" }, learner.root, about), kind.root),
      texts.root,
      h("div", { class: "pair" }, windowField.root, silence.root), range.root,
      h("div", { class: "pair" }, explore.root, least.root),
      h("div", { class: "pair" }, boxes.keyed, boxes.shared, boxes.ids, boxes.keep), shards.root,
      h("div", { class: "field" }, params.root, optional))),
    wrong,
    h("div", { class: "row" }, h("button", { class: "main", type: "submit", id: "create" }, "Create the model"), h("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel")),
    h("section", { class: "stack", "aria-labelledby": "new-calls" }, h("h2", { id: "new-calls" }, "The calls"), h("p", { class: "hint" }, "All that your app has to do, with the names from above. The first call makes the same model as the button."), calls.root));

  learner.control.addEventListener("change", chooseLearner);
  kind.control.addEventListener("change", arrange);
  keyed.addEventListener("change", arrange);

  return {
    root,
    async focus() {
      if (learners === null) {
        [learners, known] = await Promise.all([get("/ui/learners.json"), loops()]);
        const ready = Object.values(known).filter((one) => one.back.length);
        out.fill(ready.map((one) => ({ value: one.name, title: one.words.out || one.words.does, note: one.words.about_out })));
        chooseLoop();
      }
      name.control.focus();
      root.scrollIntoView({ block: "nearest" });
    },
  };
}
