// An example request, from the model's features and from example records.
const PLACE = "smidgen-sample:";
const ITEM = { topic: "art", price: 12.5 };
const CONTEXT = { device: "phone", hour: 9 };
const IDS = ["a", "b", "c", "d"];
export const random = () => +(Math.random() * 2 - 1).toFixed(2);

// Example records entered by the user; kept in this tab.
export const samples = {
  get(name) {
    try { return JSON.parse(sessionStorage.getItem(PLACE + name)) ?? null; } catch { return null; }
  },
  set: (name, value) => sessionStorage.setItem(PLACE + name, JSON.stringify(value)),
};

// The number of features by position; a learner that wraps another has its features.
export const positions = (model) => model.params?.dim ?? model.params?.learner?.dim;
export const byRecords = (model, loop) => Boolean(model.features?.auto ?? (model.features === undefined && loop.records && positions(model) === undefined));

// A tuner takes a context unless it has many knobs or no columns for one.
const KNOBS_WITH_CONTEXT = 5;
export const takesContext = (model, loop) => (byRecords(model, loop) ? Object.values(model.knobs ?? {}).filter((knob) => !knob.categories).length <= KNOBS_WITH_CONTEXT : Boolean(model.features));

// Fields from the names of a model's columns: `topic=art`, `device.os=ios`, `price`; context fields start with `context.`,
// those of slots with `context.slot.`, of which the ids are kept.
export function known(names) {
  const found = { item: {}, context: {}, slots: [] };
  for (const name of names) {
    if (name.startsWith("context.slot.")) {
      if (/^context\.slot\.id=(?!.* × )/.test(name)) found.slots.push(name.slice("context.slot.id=".length));
      continue;
    }
    if (/ × |^id=|^\(|^#|:| missing$|[[\]]/.test(name)) continue;
    const [place, rest] = name.startsWith("context.") ? [found.context, name.slice(8)] : [found.item, name];
    const at = rest.indexOf("=");
    const path = at < 0 ? rest : rest.slice(0, at);
    const values = (place[path] ??= []);
    if (at >= 0) values.push(rest.slice(at + 1));
  }
  return found;
}

const value = (values, n) => (values.length === 0 ? +(10 * Math.random()).toFixed(1) : { true: true, false: false }[values[n % values.length]] ?? values[n % values.length]);

// A record with fields of these names; paths become objects inside objects.
function record(fields, n) {
  const out = {};
  for (const [path, values] of Object.entries(fields).slice(0, 12)) {
    const steps = path.split(".");
    const last = steps.pop();
    const place = steps.reduce((at, step) => (at && typeof at === "object" ? (at[step] ??= {}) : null), out);
    if (place && typeof place === "object" && !(last in place)) place[last] = value(values, n);
  }
  return out;
}

// Another record with the same fields.
function other(given, n) {
  if (n === 0) return given;
  const change = (name, one) => {
    if (typeof one === "number") return Number.isInteger(one) ? one + n : +(one / (n + 1)).toPrecision(3);
    if (typeof one === "string") return `another ${name}${n > 1 ? ` ${n}` : ""}`;
    if (typeof one === "boolean") return n % 2 ? !one : one;
    return one && typeof one === "object" && !Array.isArray(one) ? other(one, n) : one;
  };
  return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, change(name, one)]));
}

function one(model, loop, sample, fields, n) {
  if (byRecords(model, loop)) {
    if (fields && Object.keys(fields.item).length) return record(fields.item, n);
    return other(sample?.item ?? ITEM, n);
  }
  if (model.features?.hashed) return Object.fromEntries(["apple", "banana", "cherry"].map((name) => [name, random()]));
  if (Array.isArray(model.features)) return Object.fromEntries(model.features.map((name) => [name, random()]));
  return positions(model) === undefined ? undefined : Array.from({ length: Math.min(positions(model), 1000) }, random);
}

// A decision request. `fields` are the fields the model knows; `many` is the number of candidates.
export function request(model, loop, { sample = null, fields = null, many = 3 } = {}) {
  const { asks } = loop.words;
  if (asks === "json") return loop.example.request;
  if (asks === "context") {
    const context = takesContext(model, loop) ? one(model, loop, sample && { item: sample.context }, fields, 0) : undefined;
    return context === undefined || !Object.keys(context).length ? {} : { context };
  }
  if (asks === "features") {
    const features = one(model, loop, sample, fields, 0);
    return features === undefined ? {} : { features };
  }
  const candidates = IDS.slice(0, many).map((id, n) => ({ id, features: one(model, loop, sample, fields, n) }));
  if (!byRecords(model, loop)) return { candidates };
  const context = fields && (Object.keys(fields.item).length || Object.keys(fields.context).length) ? record(fields.context, 0) : sample ? sample.context : CONTEXT;
  return context && Object.keys(context).length ? { context, candidates } : { candidates };
}

// Example feedback, with the names of this request and model.
export function reaction(back, model, asked) {
  const ids = (asked.candidates ?? []).map(({ id }) => id);
  const names = { $1: ids[0] ?? "a", $2: ids[1] ?? ids[0] ?? "b", $label: model.labels?.at(-1) ?? "spam" };
  const fill = (given) => {
    if (typeof given === "string") return names[given] ?? given;
    if (Array.isArray(given)) return given.map(fill);
    return given && typeof given === "object" ? Object.fromEntries(Object.entries(given).map(([key, inner]) => [key, fill(inner)])) : given;
  };
  return fill(back?.example ?? {});
}
