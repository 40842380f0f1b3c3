// The form for a new model: kind of decision, kind of feedback, and the calls for it.
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
  const usuallyShared = () => !learner.control.value; // the default of the service
  const takes = (setting) => loopNow().settings.includes(setting);

  const name = field("Name", "new-name", h("input", { required: true, maxlength: 100, pattern: NAME, autocomplete: "off", placeholder: "news" }), "Letters, digits, dots, dashes, underscores.");
  const out = choice("What does the model decide?", "new-loop", () => chooseLoop());
  const back = choice("What feedback do you have?", "new-feedback", () => chooseBack());
  const labels = field("Labels", "new-labels", h("textarea", { rows: 2, placeholder: "spam, work, family" }), "Separated by commas, or one per line. You can add more later.");
  const knobs = knobsEditor(() => draw());
  const knobsGroup = group("Knobs", "new-knobs", knobs.root, "In your own units. Logarithmic: the step from 0.01 to 0.1 counts as much as from 1 to 10.", () => knobs.root.querySelector("input"));
  const item = field("Example record of one candidate", "new-item", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "A record as your app has it, for the examples below. Numbers, strings, booleans, lists and objects are allowed; the model learns which fields matter.");
  const context = field("Example record of the context", "new-context", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "Facts about the user or the moment, shared by all candidates. {} if there are none.");
  const features = field("Feature names", "new-features", h("textarea", { rows: 2, placeholder: "bm25, freshness, popularity" }), "In order, separated by commas.");
  const count = field("Number of features", "new-count", number({ min: 1, max: 16777216, step: 1, value: "10" }));
  item.control.value = '{"topic": "art", "price": 12.5}';
  context.control.value = '{"device": "phone", "hour": 9}';

  // Folded away
  const kind = field("Feature format", "new-kind", h("select", {}, options([["records", "records (JSON objects)"], ["names", "numbers by name"], ["dim", "numbers by position"], ["hashed", "hashed names"]])));
  const texts = field("Text fields", "new-text", h("input", { placeholder: "title, body", autocomplete: "off" }), "Each word of these fields is a feature.");
  const learner = field("Learner", "new-learner", h("select"));
  const about = h("span", { class: "hint" });
  const span = number({ min: 0 });
  const unit = h("select", { id: "new-unit", "aria-label": "Unit of the window" }, options(UNITS));
  unit.value = "3600";
  const windowField = field("Feedback window", "new-window", span, "Later feedback is logged and not learned. Default: one day, or ten minutes with a reward for missing feedback.");
  span.after(unit);
  windowField.root.classList.add("joined");
  const silence = field("Reward for missing feedback", "new-silence", number({ placeholder: "none" }), "Learned when the window closes without feedback, e.g. 0. Default: missing feedback is ignored.");
  const [low, high] = [number({ value: "0", "aria-label": "Worst reward" }), number({ value: "1", "aria-label": "Best reward" })];
  const range = group("Reward range", "new-range", h("div", { class: "from-to" }, "from", low, "to", high), "", () => low);
  const explore = field("Exploration share", "new-explore", number({ min: 0, max: 1, placeholder: "default of the learner" }), "Share of decisions drawn evenly from all candidates; 0 always shows the best guess.");
  const least = field("Minimum share per candidate", "new-least", number({ min: 0, max: 1, placeholder: "none" }));
  const keyed = h("input", { type: "checkbox", id: "new-keyed" });
  const shared = h("input", { type: "checkbox", id: "new-shared", checked: true });
  const safe = field("Safe setting", "new-safe", h("textarea", { class: "code", rows: 2, spellcheck: "false", placeholder: '{"knobs": {"timeout": 1, "threads": 8}, "margin": 0.05}' }), "JSON. A setting of all knobs that is known to be safe, and how much more another may cost. Empty: none.");
  const ids = h("input", { type: "checkbox", id: "new-ids", checked: true });
  const check = (control, label, hint) => h("div", { class: "field" }, h("span", { class: "row" }, control, h("label", { for: control.id }, label)), h("span", { class: "hint" }, hint));
  const keeping = h("input", { type: "checkbox", id: "new-keep", checked: true });
  const boxes = { keyed: check(keyed, "One learner per user", "Each request then needs a key, e.g. the user's id."), shared: check(shared, "New users start from what all users taught", "Otherwise every user starts from scratch."), ids: check(ids, "Use the candidate's id as a feature", "Distinguishes candidates with the same features."), keep: check(keeping, "Keep the texts in the log", "Otherwise the log keeps only derived features, and stories show less.") };
  const shards = field("Shards", "new-shards", number({ min: 1, max: 64, step: 1, placeholder: "1" }), "1 to 64; several workers can then write for different users at once. Users share names and a start only within their shard, each shard numbers its own versions, rollbacks need a time, and the number cannot change.");
  const params = field("Learner params", "new-params", h("textarea", { class: "code", rows: 2, spellcheck: "false" }), "JSON.");
  const optional = h("span", { class: "hint" });

  // By their field names in the API.
  const fields = { name, loop: out, feedback: back, labels, n_classes: labels, knobs: knobsGroup, space: knobsGroup, features, text: texts, dim: count, hashed: count, learner, window_s: windowField, default_reward: silence, reward_range: range, explore, floor: explore, min_share: least, safe, shards, params };
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
    learner.control.replaceChildren(h("option", { value: first.recommended ? "" : first.learner }, `${first.learner} (recommended)`), ...fitting.filter((one) => one.name !== first.learner).map((one) => h("option", { value: one.name }, one.name)));
    chooseLearner();
  };
  const chooseLearner = () => {
    const one = entry();
    shared.checked = usuallyShared();
    set(about, `Learns from: ${one.feedback}. ${one.paper}.`);
    const own = loopNow().words.knobs ? Object.fromEntries(Object.entries(one.params).filter(([setting]) => setting !== "space")) : one.params;
    params.control.value = learner.control.value && Object.keys(own).length ? JSON.stringify(own, null, 1).replace(/\n\s*/g, " ") : "{}";
    const may = Object.entries(one.optional).map(([key, value]) => `${key} (${JSON.stringify(value)})`).join(", ");
    set(optional, may ? `Optional: ${may}.` : "");
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
    show(item, records && words.asks !== "context");
    show(context, records && ["candidates", "context"].includes(words.asks));
    show(texts, records);
    set(item.root.querySelector("label"), words.asks === "candidates" ? "Example record of one candidate" : "Example record");
    const fits = new Set([...backNow().settings, ...entry().settings]);
    for (const [setting, part] of [["default_reward", silence], ["reward_range", range], ["explore", explore], ["min_share", least], ["safe", safe]]) show(part, fits.has(setting));
    boxes.shared.hidden = !(takes("shared_start") && keyed.checked);
    show(shards, takes("shards") && keyed.checked);
    boxes.keep.hidden = !(loopNow().texts && takes("keep_texts"));
    boxes.ids.hidden = !(records && words.asks === "candidates");
    draw();
  };

  const parsed = (part, fallback) => {
    try {
      const value = JSON.parse(part.control.value || "{}");
      if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("not an object");
      return value;
    } catch (error) {
      if (fallback !== undefined) return fallback;
      part.fail(`Not a valid JSON object: ${error.message}.`);
      return null;
    }
  };
  // The body of PUT; with `strict`, marks the first invalid field and returns null.
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
    if (!safe.root.hidden && safe.control.value.trim()) {
      const given = parsed(safe, strict ? undefined : {});
      if (given === null) return null;
      made.safe = given;
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
  const sample = () => (item.root.hidden && context.root.hidden ? null : { item: parsed(item, {}), context: parsed(context, {}) });
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
    if (!name.control.checkValidity()) return name.fail("Enter a name: letters, digits, dots, dashes and underscores; a letter or digit first.");
    if ([item, context].some((part) => !part.root.hidden && parsed(part) === null)) return;
    const content = body(true);
    if (content === null) return;
    try {
      if (sample()) samples.set(name.control.value, sample());
      const made = await call("PUT", `/v1/models/${encodeURIComponent(name.control.value)}`, content);
      announce(`Created model ${made.name}`);
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
    h("h2", { id: "new-title" }, "New model"),
    name.root, out.root, back.root, labels.root, knobsGroup.root,
    h("div", { class: "pair" }, item.root, context.root), features.root, count.root,
    h("details", { class: "advanced" }, h("summary", {}, "More settings"), h("div", { class: "stack" },
      h("div", { class: "pair" }, h("div", { class: "field" }, learner.root, about), kind.root),
      texts.root,
      h("div", { class: "pair" }, windowField.root, silence.root), range.root,
      h("div", { class: "pair" }, explore.root, least.root), safe.root,
      h("div", { class: "pair" }, boxes.keyed, boxes.shared, boxes.ids, boxes.keep), shards.root,
      h("div", { class: "field" }, params.root, optional))),
    wrong,
    h("div", { class: "row" }, h("button", { class: "main", type: "submit", id: "create" }, "Create model"), h("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel")),
    h("section", { class: "stack", "aria-labelledby": "new-calls" }, h("h2", { id: "new-calls" }, "Code for your app"), h("p", { class: "hint" }, "The three calls of your app, with the names from above. The first call creates the same model as the button."), calls.root));

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
