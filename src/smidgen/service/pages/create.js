// The form for a new model: all loops, good first guesses, and the service's own words when it refuses.
import { call, get, sentence } from "./api.js";
import { announce, h } from "./dom.js";
import { loops } from "./loops.js";

const NAME = "[A-Za-z0-9][A-Za-z0-9._\\-]*";
const names = (text) => text.split(/[,\n]/).map((part) => part.trim()).filter(Boolean);

function field(label, id, control, hint) {
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, hint && h("span", { class: "hint", id: `${id}-hint` }, hint));
}

export function createForm(refresh) {
  let [learners, known] = [null, null];
  const name = h("input", { required: true, maxlength: 100, pattern: NAME, autocomplete: "off", placeholder: "news" });
  const loop = h("select");
  const learner = h("select");
  const about = h("span", { class: "hint" });
  const kind = h("select", {}, h("option", { value: "names" }, "by name"), h("option", { value: "dim" }, "by position"), h("option", { value: "hashed" }, "hashed names"), h("option", { value: "records" }, "records, as the app has them"));
  const features = h("textarea", { rows: 2, placeholder: "bm25, freshness, popularity" });
  const count = h("input", { type: "number", min: 1, max: 16777216, value: "10" });
  const labels = h("input", { placeholder: "spam, work, family", autocomplete: "off" });
  const span = h("input", { type: "number", min: 0.01, step: "any", value: "24" });
  const keyed = h("input", { type: "checkbox", id: "new-keyed" });
  const params = h("textarea", { class: "code", rows: 3, spellcheck: "false" });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });

  const rows = {
    kind: field("Features come", "new-kind", kind),
    features: field("Feature names", "new-features", features, "In order, separated by commas."),
    count: field("How many features", "new-count", count),
    labels: field("Labels", "new-labels", labels, "Separated by commas."),
  };
  const optional = h("span", { class: "hint" });
  const entry = () => learners[loop.value].find((one) => one.name === learner.value);
  const fill = () => {
    learner.replaceChildren(...learners[loop.value].map((one) => h("option", { value: one.name }, one.name)));
    pick();
  };
  const pick = () => {
    const one = entry();
    about.textContent = `Learns from: ${one.feedback}. ${one.paper}.`;
    params.value = Object.keys(one.params).length ? JSON.stringify(one.params, null, 1).replace(/\n\s*/g, " ") : "{}";
    optional.textContent = `JSON. May also have: ${Object.entries(one.optional).map(([key, value]) => `${key} (${JSON.stringify(value)})`).join(", ")}.`;
    arrange();
  };
  const arrange = () => {
    const has = entry().features;
    rows.kind.hidden = !has;
    rows.features.hidden = !has || kind.value !== "names";
    rows.count.hidden = !has || ["names", "records"].includes(kind.value);
    rows.labels.hidden = !known[loop.value].words.labels;
  };
  loop.addEventListener("change", fill);
  learner.addEventListener("change", pick);
  kind.addEventListener("change", arrange);

  const refuse = (text, control) => {
    wrong.textContent = text;
    wrong.hidden = false;
    control?.focus();
    return null;
  };
  const body = () => {
    const out = { loop: loop.value, learner: learner.value, window_s: 3600 * Number(span.value), keyed: keyed.checked };
    try {
      out.params = JSON.parse(params.value || "{}");
    } catch (error) {
      return refuse(`The settings are not JSON: ${error.message}`, params);
    }
    if (entry().features && kind.value === "names") {
      out.features = names(features.value);
      if (!out.features.length) return refuse("Name at least one feature.", features);
    }
    if (entry().features && kind.value === "dim") (out.params.learner ?? out.params).dim = Number(count.value);
    if (entry().features && kind.value === "hashed") out.features = { hashed: Number(count.value) };
    if (known[loop.value].words.labels) {
      out.labels = names(labels.value);
      if (out.labels.length < 2) return refuse("Give at least two labels.", labels);
    }
    return out;
  };
  const send = async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    const content = body();
    if (content === null) return;
    try {
      const made = await call("PUT", `/v1/models/${encodeURIComponent(name.value)}`, content);
      announce(`Model ${made.name} is ready`);
      location.hash = `model=${made.name}`;
    } catch (error) {
      refuse(sentence(error));
      await refresh();
    }
  };

  const root = h("form", { class: "card stack", "aria-labelledby": "new-title", onsubmit: send },
    h("h2", { id: "new-title" }, "A new model"),
    h("div", { class: "pair" }, field("Name", "new-name", name, "Letters, digits, dots, dashes, underscores."), field("What it does", "new-loop", loop)),
    h("div", { class: "pair" }, h("div", { class: "field" }, field("Learner", "new-learner", learner), about), rows.kind),
    rows.features, rows.count, rows.labels,
    h("div", { class: "pair" }, field("Feedback is learnt for (hours)", "new-window", span, "Later feedback is logged and not learnt."),
      h("div", { class: "field" }, h("span", { class: "row" }, keyed, h("label", { for: "new-keyed" }, "One learner per user")),
        h("span", { class: "hint" }, "Each decision then says whose it is (key)."))),
    h("details", {}, h("summary", {}, "Settings of the learner"), h("div", { class: "field" }, field("Settings", "new-params", params), optional)),
    wrong,
    h("div", { class: "row" }, h("button", { class: "main", type: "submit", id: "create" }, "Create the model"),
      h("button", { type: "button", class: "quiet", onclick: () => { root.hidden = true; document.getElementById("new-model")?.setAttribute("aria-expanded", "false"); document.getElementById("new-model")?.focus(); } }, "Cancel")));

  return {
    root,
    async focus() {
      if (learners === null) {
        [learners, known] = await Promise.all([get("/ui/learners.json"), loops()]);
        loop.replaceChildren(...Object.values(known).filter((one) => learners[one.name].length).map((one) => h("option", { value: one.name }, one.words.does)));
        fill();
      }
      name.focus();
      root.scrollIntoView({ block: "nearest" });
    },
  };
}
