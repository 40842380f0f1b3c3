// One model: health, worth, candidates, the curve, exploration, weights, settings, decisions; bounds for researchers.
import { get, model as path } from "./api.js";
import { callsCard } from "./calls.js";
import { draw } from "./charts.js";
import { compareCard } from "./compare.js";
import { announce, clock, figure, h, interval, middle, percent, set, short, span, whole } from "./dom.js";
import { archiveDialog, editDialog, reviveDialog } from "./edit.js";
import { examinationCard } from "./examination.js";
import { healthCard, idle } from "./health.js";
import { bestCard } from "./knobs.js";
import { loopOf, loops } from "./loops.js";
import { logBegins, pastLine } from "./past.js";
import { isPlaying, playSample } from "./sample.js";
import { recentCard } from "./story.js";
import { positions, reaction } from "./request.js";
import { tasteCard } from "./taste.js";
import { tryCard } from "./tryit.js";
import { spendCards } from "./spend.js";
import { candidatesCard, worthCard } from "./worth.js";

export function chartCard(title, note, size, kind = "") {
  const chart = h("div", { class: `chart ${kind}`, role: "group", "aria-roledescription": "chart", "aria-label": title, "aria-description": "Arrow keys read the values one by one.", tabindex: "0" });
  const caption = h("figcaption", {}, note);
  const empty = h("p", { class: "empty" }, "No data yet.");
  const heading = h("h2", {}, title);
  const bigger = h("button", { type: "button", class: "quiet enlarge", title: "Enlarge", "aria-label": `Enlarge ${title}`, "aria-pressed": "false", hidden: true, onclick: () => enlarge(!root.classList.contains("enlarged")) }, "⤢");
  const root = h("section", { class: `card ${size}` }, h("figure", {}, h("div", { class: "row between head" }, heading, bigger), chart, empty, caption));
  const enlarge = (yes) => {
    root.classList.toggle("enlarged", yes);
    document.body.classList.toggle("covered", yes);
    bigger.setAttribute("aria-pressed", String(yes));
  };
  root.addEventListener("keydown", (event) => event.key === "Escape" && enlarge(false));
  chart.hidden = true;
  let drawn = null;
  // Drawn again only when the data has changed.
  const show = (picture, summary, data) => {
    const content = JSON.stringify(data);
    if (picture && content === drawn) return;
    drawn = picture ? content : null;
    chart.hidden = !picture;
    bigger.hidden = !picture;
    empty.hidden = Boolean(picture);
    if (!picture) { enlarge(false); return; }
    chart.setAttribute("aria-label", `${title}: ${summary}`);
    draw(chart, picture);
  };
  return { root, chart, caption, empty, heading, show };
}

const counting = (title = "learned feedback") => ({ title, from: 0, whole: true });
const inFull = (x) => String(+x.toPrecision(4)).replace("-", "−");
const share = (x) => `${(100 * x).toFixed(1)} %`;
const SELDOM = 10000; // worth and candidates read thousands of decisions: not at every look, in milliseconds
const SHORTEST = 60000; // a curve over less time, in milliseconds, counts feedback instead
// The ranges of the curve, in seconds; 0 is all of it.
const RANGES = [["0", "all time"], ["3600", "last hour"], ["86400", "last 24 hours"], ["604800", "last 7 days"], ["2592000", "last 30 days"], ["7776000", "last 90 days"]];
const SHARE = { from: 0, to: 1.02, share: true };

export function modelView(name, refresh) {
  const root = h("div", { class: "page" }, h("p", { class: "empty" }, "…"));
  let [page, gone] = [null, false];
  const again = async () => { // after a change of settings the page is rebuilt
    page = null;
    await refresh();
  };
  return {
    root,
    async refresh() {
      if (gone) return;
      if (page === null) {
        const [model, known] = await Promise.all([get(`/v1/models/${encodeURIComponent(name)}`), loops()]);
        page = build(model, loopOf(model, known), refresh, again);
        root.replaceChildren(...page.parts);
      }
      await page.update();
    },
    missing() {
      root.replaceChildren(h("section", { class: "card stack", "aria-labelledby": "missing" },
        h("h1", { id: "missing" }, `There is no model ${name}`),
        h("p", { class: "muted" }, "It does not exist, or your token does not allow access to it. Names are case sensitive."),
        h("div", { class: "row" }, h("a", { class: "button main", href: "/#" }, "All models"))));
      gone = true;
    },
  };
}

function build(model, loop, refresh, again) {
  const tiles = Object.fromEntries(["quality", "version", "decisions", "answered", "late", "lag"].map((id) => [id, { value: h("div", { class: "value", id: `tile-${id}` }), label: h("div", { class: "label" }) }]));
  const curve = chartCard(loop.words.curve, loop.words.about_curve, "full");
  curve.chart.id = "curve";
  const period = h("select", { id: "range", "aria-label": "Range of time" }, RANGES.map(([value, text]) => h("option", { value }, text)));
  period.addEventListener("change", () => refresh());
  curve.heading.after(period);
  const bound = chartCard("Regret bound", "", "full", "short");
  const worth = worthCard(model, loop);
  const candidates = candidatesCard(model, loop);
  const second = secondCard(loop);
  const strong = weightsCard(model, loop);
  const lag = chartCard("Feedback delay", "", second ? "third" : "half", "short");
  const recent = recentCard(model, loop);
  const health = healthCard(model.name);
  const past = pastLine();
  const compare = compareCard(model.name, again);
  const asks = !model.archived_at && !model.shadow_of && !model.challenger_of; // whether apps call it by its own name
  const examination = examinationCard(chartCard);
  const best = bestCard(model);
  const taste = loop.texts ? tasteCard(model) : null;
  const spent = spendCards(model, chartCard);
  const charts = h("div", { class: "charts full" }, best.root, taste && taste.root, second && second.root, examination.root, strong.root, lag.root);
  const calls = callsCard();
  const back = loop.back.find((each) => each.feedback === model.feedback) ?? loop.back[0];
  const asked = (request) => calls.update({ name: model.name, request, feedback: reaction(back, model, request), answer: loop.answer[0] });
  const state = h("span", { class: "chip", hidden: !model.archived_at }, "archived");
  const parts = [
    h("p", {}, h("a", { href: "/#" }, "← All models")),
    h("div", { class: "row between" }, h("h1", {}, model.name),
      h("div", { class: "row" }, state, h("span", { class: "chip loop" }, model.loop), h("span", { class: "chip" }, model.learner), model.keyed && h("span", { class: "chip" }, "one learner per key"))),
    past.root,
    health.root,
    worth.root,
    candidates.root,
    compare.root,
    sampleBar(model, refresh),
    h("section", { class: "card tiles", "aria-label": "At a glance" }, Object.values(tiles).map((tile) => h("div", {}, tile.value, tile.label))),
    h("div", { class: "grid" }, curve.root, spent.flatMap((each) => each.roots), charts,
      asks && tryCard(model, loop, refresh, asked), settingsCard(model, back, again), asks && calls.root, recent.root),
    h("details", { class: "researchers", id: "researchers" }, h("summary", {}, "For researchers: what theory promises"), bound.root),
  ];

  let looked = 0;
  const update = async () => {
    const reply = await get(`${path(model.name)}/curve.json?last_s=${period.value}`); // first, so that no tile is older than the curve
    const now = await get(`/v1/models/${encodeURIComponent(model.name)}`);
    const tell = (id, value, label) => { set(tiles[id].value, value); set(tiles[id].label, label); };
    const due = Date.now() - looked > SELDOM;
    if (due) looked = Date.now();
    const late = Promise.all([...(due ? [worth.update(now), candidates.update()] : []), strong.update(), recent.update()]);
    const nothing = idle(await health.update(now));
    tell("quality", nothing ? "–" : figure(loop, now.quality.value), nothing ? `${now.quality.measure}: nothing to learn from` : `${now.quality.measure} (${interval(loop, now.quality)})`);
    past.update(now.undoing);
    tell("version", whole(now.model_version), "learned feedback (version)");
    tell("decisions", whole(now.decisions), now.keyed ? `decisions for ${whole(now.keys)} keys` : "decisions");
    tell("answered", now.decisions ? percent(now.answered / now.decisions) : "–", `with feedback, ${whole(now.open)} ${loop.words.waiting}${now.pending ? `, ${whole(now.pending)} not shown yet` : ""}`);
    tell("late", whole(now.late), "late feedback");
    tell("lag", span(reply.lag.median_s), "median feedback delay");
    await compare.update(now);
    drawCurve(curve, loop, reply, now, nothing);
    drawBound(bound, reply.bound);
    second?.update(reply);
    spent.forEach((each) => each.update(reply.spend, now));
    examination.update(now.examination, now.perturbation, now.unexamined);
    await best.update(now.best);
    await taste?.update();
    strong.root.hidden = Boolean(now.best?.knobs); // the same, in other words
    const many = [...charts.children].filter((card) => !card.hidden).length;
    charts.style.setProperty("--columns", many === 4 ? 2 : Math.min(3, many));
    drawLag(lag, reply.lag);
    await late;
  };
  return { parts: parts.filter(Boolean), update };
}

function sampleBar(model, refresh) {
  if (!/^sample(-\d+)?$/.test(model.name) || model.archived_at) return null;
  const bar = h("progress", { max: "1", value: 0, hidden: true, "aria-label": "Progress of simulated readers" });
  const button = h("button", { type: "button", id: "play-more" }, "Simulate 100 readers");
  button.addEventListener("click", async () => {
    if (isPlaying()) return;
    button.disabled = true;
    bar.hidden = false;
    await playSample(100, refresh, () => {}, (share) => { bar.value = share; });
    [bar.hidden, button.disabled] = [true, false];
    announce("Simulated 100 more readers");
  });
  return h("section", { class: "card stack", "aria-label": "Simulated readers" }, h("div", { class: "row between" },
    h("p", { class: "muted" }, "Simulated readers see five of eight articles and open the one they like most; one in twenty opens a random one. The model does not know their preferences: compare its weights."), button), bar);
}

function drawCurve(card, loop, reply, now, nothing) {
  const points = reply.points.filter((point) => point.value !== null);
  const last = points.at(-1);
  const timed = points.every((point) => point.at) && Date.parse(last?.at) - Date.parse(points[0]?.at) >= SHORTEST;
  const place = (point) => (timed ? Date.parse(point.at) : point.to);
  if (!reply.complete) set(card.caption, `Reading the log: ${whole(points.at(-1)?.to ?? 0)} of ${whole(now.model_version)} so far.`);
  else set(card.caption, loop.words.about_curve + (now.quality.silent ? ` It counts decisions with feedback only: of the last ${whole(now.quality.of)} closed decisions, ${whole(now.quality.silent)} got no feedback.` : "") + (points.some((point) => point.low === null) ? " Windows with fewer than ten feedbacks have no interval." : ""));
  const starts = reply.restarts ?? [];
  const changes = [...(reply.marks ?? []), ...starts.map((each) => ({ at: each.at, text: `started again: ${each.reason}` }))].map(({ at, text }) => ({ at: Date.parse(at), text }));
  const within = changes.filter(({ at }) => timed && at >= place(points[0]) && at <= place(last));
  if (reply.complete && within.length) set(card.caption, `${card.caption.textContent} Dashed lines: ${within.slice(-4).map(({ at, text }) => `${clock(at)} ${text}`).join("; ")}.`);
  else if (reply.complete && starts.length && !timed) set(card.caption, `${card.caption.textContent} Dashed lines: the learner started again (${starts.map((each) => `after feedback ${whole(each.version)}: ${each.reason}`).join("; ")}).`);
  set(card.empty, nothing && points.length ? "The model has nothing to learn from: see Health." : "No data yet.");
  card.show(points.length && !nothing ? {
    kind: "lines", x: timed ? { time: true } : counting(), y: loop.share ? SHARE : { within: now.reward_range }, at: points.map(place),
    lines: [{ ...Object.fromEntries(["value", "low", "high"].map((of) => [of === "value" ? "values" : of, points.map((point) => point[of])])), colour: "accent", dots: points.length <= 30 }],
    events: timed ? changes : starts.map((each) => ({ at: each.version })),
    read: (i) => [[`feedback ${whole(points[i].from)}–${whole(points[i].to)}`, (loop.share ? share : inFull)(points[i].value)], ...(timed ? [[`until ${clock(points[i].at)}`, ""]] : [])],
  } : null, last ? `${figure(loop, last.value)} in the latest window, up to feedback ${last.to}` : "", [points, changes]);
  card.chart.dataset.points = points.length;
  card.chart.dataset.to = last?.to ?? 0;
  card.chart.dataset.marks = within.length;
}

function drawBound(card, bound) {
  const single = bound.curve.length === 1;
  set(card.empty, bound.why_not ?? (single ? `≤ ${short(bound.curve[0][1])} on average after ${whole(bound.curve[0][0])} rounds` : ""));
  const unit = bound.unit ? ` · ${bound.unit}` : "";
  set(card.caption, bound.why_not ? "" : `${bound.theorem}. Average regret at most ${short(bound.curve.at(-1)[1])}${unit} after ${whole(bound.curve.at(-1)[0])} rounds. ${bound.assumes} ${bound.checked}`);
  card.show(bound.why_not || single ? null : {
    kind: "lines", x: counting("rounds"), y: { tozero: true, title: bound.unit ? `× ${bound.unit}` : "" }, at: bound.curve.map((p) => p[0]),
    lines: [{ values: bound.curve.map((p) => p[1]), colour: "second", stroke: "dashed" }],
    read: (i) => [[`${whole(bound.curve[i][0])} rounds`, `≤ ${short(bound.curve[i][1])}`]],
  }, bound.why_not ?? `at most ${short(bound.curve.at(-1)[1])}${unit}`, bound);
}

// The second chart of a loop: the position of clicks over learned feedback, or shares of all decisions.
function secondCard(loop) {
  if (!loop.figure) return null;
  const { title, note, of, lines, idle } = loop.figure;
  const card = chartCard(title, note, "third", "short");
  const places = of === "learnt";
  const update = (reply) => {
    const all = (places ? reply.points : reply.made).filter((point) => lines.some((key) => point[key] !== null));
    const still = Boolean(idle) && all.every((point) => lines.every((key) => !point[key]));
    set(card.empty, all.length && still ? idle : "No data yet.");
    const line = (key, i) => ({ values: all.map((p) => p[key]), colour: places ? "good" : lines.length > 1 && i === 0 ? "accent" : "second", stroke: i ? "dotted" : "", dots: places && all.length <= 30 });
    const highest = Math.max(2, ...all.flatMap((p) => lines.map((key) => p[key])));
    const latest = all.at(-1);
    const said = (key) => (places ? `${short(latest[key])} in the latest window` : `${percent(latest[key])} ${key} lately`);
    card.show(all.length && !still ? {
      kind: "lines", x: counting(places ? undefined : "decisions"), y: places ? { from: highest + 0.2, to: 0.8 } : SHARE, at: all.map((p) => p.to), lines: lines.map(line),
      read: (i) => lines.filter((key) => all[i][key] !== null).map((key) => (places ? ["position", all[i][key].toFixed(2)] : [key, share(all[i][key])])),
    } : null, latest ? lines.map(said).join(", ") : "", all);
  };
  return { root: card.root, update };
}

// The name of a weight next to its bar; a cross of two features has a line for each.
const CROSS = " × ";
const tick = (name) => name.split(CROSS).map((part, i) => middle((i ? "× " : "") + part, 26));

function weightsCard(model, loop) {
  const card = chartCard(loop.words.weights, loop.words.about_weights, loop.figure ? "third" : "half", "bars");
  const label = h("select", { id: "weights-label", "aria-label": "Label whose weights are shown" });
  const key = h("input", { id: "weights-key", list: "weights-keys", placeholder: "key", "aria-label": "Key whose weights are shown", autocomplete: "off" });
  const known = h("datalist", { id: "weights-keys" });
  const wrong = h("p", { class: "hint", role: "alert" });
  const choose = h("div", { class: "row" }, label, key, known);
  [label.hidden, key.hidden] = [true, !model.keyed];
  card.heading.after(choose, wrong);
  let drawn = "";
  const suggest = async () => {
    const { keys } = await get(`${path(model.name)}/keys.json?prefix=${encodeURIComponent(key.value)}`);
    known.replaceChildren(...keys.map((value) => h("option", { value })));
  };
  const update = async () => {
    let reply;
    try {
      reply = await get(`${path(model.name)}/weights.json?key=${encodeURIComponent(key.value)}&label=${encodeURIComponent(label.value)}`);
      set(wrong, "");
    } catch (error) {
      if (error.status !== 404) throw error;
      return set(wrong, error.message);
    }
    if (reply.labels && label.hidden) {
      label.replaceChildren(...reply.labels.map((value) => h("option", { value }, value)));
      label.hidden = false;
    }
    if (model.keyed && reply.key && !key.value && document.activeElement !== key) { key.value = reply.key; suggest(); }
    const content = JSON.stringify([reply.weights, reply.key, reply.label]);
    if (content === drawn) return undefined;
    drawn = content;
    set(card.empty, reply.why_not ?? "All weights are zero: the model has not learned yet.");
    const bars = reply.weights.slice(0, 14);
    card.chart.style.setProperty("--bars", `${Math.max(150, bars.reduce((sum, bar) => sum + (bar.name.includes(CROSS) ? 36 : 26), 40))}px`);
    card.show(bars.length ? {
      kind: "bars", names: bars.map((bar) => tick(bar.name)), values: bars.map((bar) => bar.weight), read: (i) => [[middle(bars[i].name, 200), inFull(bars[i].weight)]],
    } : null, bars.slice(0, 3).map((bar) => `${bar.name} ${short(bar.weight)}`).join(", "), reply);
    return undefined;
  };
  label.addEventListener("change", update);
  key.addEventListener("change", () => { drawn = ""; update(); });
  key.addEventListener("input", suggest);
  return { root: card.root, update };
}

function drawLag(card, lag) {
  set(card.caption, lag.of ? `Time from decision to feedback, for the last ${whole(lag.of)} learned; median ${span(lag.median_s)}. ${lag.late ? `${whole(lag.late)} late ones are not counted.` : "None was late."}` : "No data yet.");
  const last = lag.bars.findLastIndex((bar) => bar.n > 0);
  const bars = lag.bars.slice(0, Math.max(4, last + 2));
  card.show(lag.of ? {
    kind: "columns", names: bars.map((bar) => bar.name), values: bars.map((bar) => bar.n), y: { whole: true, count: 4 }, read: (i) => [[bars[i].name, whole(bars[i].n)]],
  } : null, `median ${span(lag.median_s)}`, lag.bars);
}

function settingsCard(model, back, again) {
  const features = Array.isArray(model.features) ? model.features.join(", ") : model.features?.auto ? `records, up to ${whole(model.features.auto.dim)} names` : model.features ? `hashed into ${whole(model.features.hashed)} columns` : positions(model) ? `${positions(model)}, by position` : "none";
  const rows = [["Learner", model.learner], ["Features", features], ["Labels", model.labels?.join(", ")], ["Knobs", model.knobs && Object.entries(model.knobs).map(([name, limits]) => `${name} ${limitsOf(limits)}`).join(", ")],
    ["Safe setting", model.safe && `${JSON.stringify(model.safe.knobs)}, margin ${short(model.safe.margin)}`], ["Params", Object.keys(model.params).length ? JSON.stringify(model.params) : "defaults"],
    ["Feedback window", span(model.window_s)], ["Several reports", model.rewards === "first" ? null : typeof model.rewards === "string" ? model.rewards : Object.entries(model.rewards ?? {}).map(([part, weight]) => `${part} × ${short(weight)}`).join(", ")],
    ["Holdout", model.holdout && `${percent(model.holdout.share)}, ${model.holdout.policy.candidate ?? model.holdout.policy}`], ["Budget", model.budget && Object.entries(model.budget).map(([currency, { limit }]) => `${short(limit)} ${currency} per decision`).join(", ")], ["Reward for missing feedback", model.default_reward === null ? null : short(model.default_reward)],
    ["Exploration share", model.explore === null ? null : short(model.explore)], ["Minimum share per candidate", model.min_share ? short(model.min_share) : null], ["Retention", model.retention_s && span(model.retention_s)], ["Log starts", logBegins(model.base)], ["Created", new Date(model.created_at).toLocaleString("en-GB")], ["Archived", model.archived_at && new Date(model.archived_at).toLocaleString("en-GB")]];
  return h("section", { class: `card stack ${model.archived_at ? "full" : "third"}`, "aria-labelledby": "settings-title" }, h("h2", { id: "settings-title" }, "Settings"),
    h("dl", { class: "stack" }, rows.filter(([, value]) => value).map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)))),
    model.archived_at ? h("div", { class: "row" }, h("button", { type: "button", id: "revive-model", onclick: () => reviveDialog(model, again) }, "Restore"))
      : h("div", { class: "row" }, h("button", { type: "button", id: "edit-model", onclick: () => editDialog(model, back?.settings ?? [], again) }, "Change"), h("button", { type: "button", class: "quiet", id: "archive-model", onclick: () => archiveDialog(model, again) }, "Archive")),
    h("details", {}, h("summary", {}, "Download the log"), h("pre", { tabindex: "0" }, h("code", {}, `curl ${location.origin}/v1/models/${model.name}/log`))));
}

// The limits of a knob: a pair, or one under its kind.
function limitsOf(limits) {
  const [kind, pair] = Array.isArray(limits) ? ["", limits] : Object.entries(limits)[0];
  if (kind === "categories") return pair.join(" or ");
  return Array.isArray(pair) ? `from ${pair[0]} to ${pair[1]}${kind && ` (${kind})`}` : JSON.stringify(limits);
}
