// What a model is worth: against its holdout, and by candidate.
import { get } from "./api.js";
import { ago, h, middle, percent, set, short, svg, whole } from "./dom.js";

const v1 = (name) => `/v1/models/${encodeURIComponent(name)}`;
const CHIPS = { better: ["good", "better than the holdout"], worse: ["problem", "worse than the holdout"], "not yet": ["", "undecided"] };
const number = (loop, x) => (x === null || x === undefined ? "–" : loop.share ? percent(x) : short(x));
const signed = (loop, x) => (x > 0 ? "+" : "") + number(loop, x);
const ends = (loop, { low, high, n }) => (low === null ? `${whole(n)} observations` : `${number(loop, low)} to ${number(loop, high)}, ${whole(n)} observations`);

// An interval between two ends, with its value; zero is marked where it lies between them.
function whisker({ value, low, high }, [from, to], [width, height]) {
  const image = svg("svg", { class: "whisker", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const x = (v) => (8 + ((Math.min(Math.max(v, from), to) - from) / (to - from || 1)) * (width - 16)).toFixed(1);
  if (from < 0 && to > 0) image.append(svg("line", { class: "nothing", x1: x(0), x2: x(0), y1: 2, y2: height - 2 }));
  if (value === null) return image;
  if (low !== null) image.append(svg("line", { class: "range", x1: x(low), x2: x(high), y1: height / 2, y2: height / 2 }));
  image.append(svg("circle", { cx: x(value), cy: height / 2, r: height / 6 + 0.5 }));
  return image;
}

export function worthCard(model, loop) {
  const chip = h("span", { class: "chip", id: "worth-verdict", hidden: true });
  const words = h("p", { id: "worth-words" });
  const [picture, tiles, foot] = [h("div", {}), h("div", { class: "tiles bare" }), h("p", { class: "hint" })];
  const root = h("section", { class: "card stack", id: "worth", "aria-labelledby": "worth-title", hidden: true },
    h("div", { class: "row between" }, h("h2", { id: "worth-title" }, "What it is worth"), chip), words, picture, tiles, foot);
  const fits = ["choose", "rank", "label"].includes(model.loop) && !model.shadow_of && !model.challenger_of;
  const tile = (value, label) => h("div", {}, h("div", { class: "value" }, value), h("div", { class: "label" }, label));
  let drawn = "";

  const none = () => {
    set(words, "Without a holdout nobody knows what the model earns beyond a fixed policy. A holdout answers a small share of the users with a policy that does not learn:");
    picture.replaceChildren(h("pre", { tabindex: "0" }, h("code", {}, `curl -X PATCH ${location.origin}${v1(model.name)} -H 'content-type: application/json' -d '{"holdout": {"share": 0.05}}'`)));
    set(foot, 'Send "unit" with each request, e.g. the user\'s id, so that one person is always in the same group.');
  };

  const compare = (found) => {
    const [kind, said] = CHIPS[found.verdict];
    chip.hidden = false;
    chip.className = `chip ${kind}`;
    set(chip, said);
    const { difference: gap, ratio } = found.lift;
    const observed = found.sample_ratio.observed;
    const range = gap.low === null ? "" : ` (between ${signed(loop, gap.low)} and ${signed(loop, gap.high)}, 95 % confidence at any time, ${whole(gap.n)} ${found.units === null ? "decisions" : "units"})`;
    set(words, gap.value === null ? "Nothing can be compared yet: both groups need closed decisions."
      : `Compared with its holdout, the model earns ${signed(loop, gap.value)} per decision${range}.`);
    const reach = Math.max(...[gap.low, gap.high, gap.value].map((x) => Math.abs(x ?? 0))) || 1;
    picture.replaceChildren(whisker(gap, [-reach, reach], [320, 28]));
    tiles.replaceChildren(
      tile(number(loop, found.model.value), `model: ${ends(loop, found.model)}`),
      tile(number(loop, found.holdout.value), `holdout: ${ends(loop, found.holdout)}`),
      tile(ratio.value === null ? "–" : `× ${short(ratio.value)}`, ratio.low === null || ratio.high === null ? "ratio" : `ratio: ${short(ratio.low)} to ${short(ratio.high)}`),
      tile(observed === null ? "–" : percent(observed), `in the holdout; ${percent(found.sample_ratio.expected)} expected`));
    const to = found.decisions_to_go;
    set(foot, !found.sample_ratio.ok ? "The groups do not have the sizes that were asked for: do not trust this comparison (see Health)."
      : found.verdict !== "not yet" ? "" : to === null ? "It is not known yet how long a verdict takes." : `A verdict takes about ${whole(to)} more decisions if the difference stays.`);
  };

  const update = async (now) => {
    root.hidden = !fits || Boolean(now.archived_at && !now.holdout);
    if (root.hidden) return;
    const found = now.holdout ? await get(`${v1(model.name)}/worth`) : null;
    const content = JSON.stringify(found);
    if (content === drawn) return;
    drawn = content;
    if (found) compare(found);
    else none();
  };
  return { root, update };
}

const FIRST = 8; // rows that are shown at once

export function candidatesCard(model, loop) {
  const [rows, note] = [h("tbody"), h("p", { class: "hint" })];
  const all = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => { open = !open; show(); } });
  const heading = { label: "Labels", filter: "Answers" }[model.loop] ?? "Candidates";
  const columns = [heading.slice(0, -1), "Shown", loop.measure[0].toUpperCase() + loop.measure.slice(1), "Interval", "Trend", "Last shown"];
  const table = h("table", { class: "candidates" }, h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col" }, text)))), rows);
  const root = h("section", { class: "card stack", id: "candidates", "aria-labelledby": "candidates-title", hidden: true },
    h("div", { class: "row between" }, h("div", {}, h("h2", { id: "candidates-title" }, heading), note), all), h("div", { class: "scroll" }, table));
  let [found, drawn, open] = [null, "", false];

  const row = (one, span) => h("tr", {},
    h("th", { scope: "row", title: one.id }, middle(one.id)),
    h("td", {}, whole(one.shown), h("div", { class: "hint" }, `${percent(one.share)} of all`)),
    h("td", {}, number(loop, one.reward.value), h("div", { class: "hint" }, one.reward.low === null ? `${whole(one.reward.n)} closed` : `${number(loop, one.reward.low)} to ${number(loop, one.reward.high)}`)),
    h("td", {}, whisker(one.reward, span, [160, 22])),
    h("td", { class: "muted" }, one.trend === null ? "–" : signed(loop, one.trend)),
    h("td", { class: "muted" }, ago(one.last_shown)));

  const show = () => {
    const list = open ? found.candidates : found.candidates.slice(0, FIRST);
    const known = found.candidates.flatMap(({ reward }) => [reward.value, reward.low, reward.high]).filter((x) => x !== null);
    const span = loop.share ? [0, 1] : [Math.min(0, ...known), Math.max(...known, 1e-9)];
    rows.replaceChildren(...list.map((one) => row(one, span)));
    all.hidden = found.candidates.length <= FIRST;
    set(all, open ? "Show fewer" : `Show all ${whole(found.candidates.length)}`);
    set(note, `The latest ${whole(found.of)} decisions of the model${model.holdout ? ", without its holdout" : ""}. Intervals hold at any time.`);
  };

  const update = async () => {
    if (loop.texts || Object.values(loop.feedback).includes("loss")) return; // nothing that is shown has an id
    found = await get(`${v1(model.name)}/candidates`);
    root.hidden = !found.candidates.length;
    const content = JSON.stringify(found);
    if (content !== drawn && !root.hidden) show();
    drawn = content;
  };
  return { root, update };
}
