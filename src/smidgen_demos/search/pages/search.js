// The search box, the results, and the effect of a click: teach, open, and rank again.
import { call, get, sentence } from "/ui/files/api.js";
import { announce, by, h, whole } from "/ui/files/dom.js";
import { panel } from "./search-panel.js";

const TRIES = ["read csv", "parse json", "open file", "random choice", "http server", "sort", "date"];
const PAUSE_MS = 250;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const [box, list, count, wrong] = ["q", "results", "count", "wrong"].map(by);
let shown = { decision: null, q: "", names: [], reply: null };
let cards = new Map();
let asked = 0;
let typing = 0;
let teaching = false;

const ordinal = (n) => `${n}${["th", "st", "nd", "rd"][n > 3 ? 0 : n]}`;

function complain(error) {
  wrong.hidden = !error;
  if (error) wrong.textContent = error.status ? sentence(error) : "There is no connection to the service.";
}

// A text with the words of the query marked; in running text only where a word begins.
function marked(text, words, begin) {
  const some = words.filter((word) => word.length > 1).sort((a, b) => b.length - a.length);
  if (!some.length) return [text];
  const pattern = new RegExp(`${begin ? "\\b" : ""}(${some.join("|")})`, "gi");
  return text.split(pattern).map((part, i) => (i % 2 ? h("mark", {}, part) : part));
}

function why(result) {
  const { features, weights } = side.now();
  const parts = result.features.map((x, i) => ({ name: features[i], part: x * weights[i] })).filter(({ part }) => Math.abs(part) >= 0.005);
  parts.sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
  const chips = parts.slice(0, 5).map(({ name, part }) => h("span", { class: `chip ${part > 0 ? "plus" : "minus"}` }, `${name} ${part > 0 ? "+" : "−"}${Math.abs(part).toFixed(2)}`));
  return ["Why here:", ...(chips.length ? chips : ["chance; it has learnt nothing yet"])];
}

function card(name) {
  const place = h("span", { class: "place" });
  const moved = h("span", { class: "moved" });
  const [title, summary] = [h("span", { class: "name" }), h("span", { class: "summary" })];
  const kind = h("span", { class: "kind" });
  const [signature, reasons, text] = [h("div", { class: "signature" }), h("div", { class: "why" }), h("pre", { tabindex: "0", "aria-label": `Docstring of ${name}` })];
  const body = h("div", { class: "opened", hidden: true }, signature, reasons, text);
  const button = h("button", { type: "button", "aria-expanded": "false", onclick: () => choose(name) }, place, h("span", { class: "title" }, title, kind, moved), summary);
  const root = h("li", { class: "result", "data-name": name }, button, body);
  const open = (yes) => {
    body.hidden = !yes;
    root.classList.toggle("open", yes);
    button.setAttribute("aria-expanded", String(yes));
  };
  const update = (result, number, words, before) => {
    const dot = name.lastIndexOf(".") + 1;
    title.replaceChildren(h("span", { class: "within" }, marked(name.slice(0, dot), words)), ...marked(name.slice(dot), words));
    summary.replaceChildren(...marked(result.summary, words, true));
    kind.textContent = result.kind;
    kind.className = `kind ${result.kind}`;
    signature.textContent = result.signature ? name.slice(dot) + result.signature : "";
    signature.hidden = !result.signature;
    text.replaceChildren(...marked(result.text, words, true));
    reasons.replaceChildren(...why(result));
    place.textContent = number;
    const up = before ? before - number : 0;
    moved.className = `moved ${up < 0 ? "down" : ""}`;
    moved.textContent = up ? `${up > 0 ? "↑" : "↓"} was ${ordinal(before)}` : "";
  };
  return { root, button, open, update, isOpen: () => !body.hidden };
}

// Put the results in their new order, and let each glide there from where it was.
function rearrange(reply, keep) {
  const before = new Map([...cards].map(([name, { root }]) => [name, root.getBoundingClientRect().top]));
  const focus = document.activeElement;
  const next = new Map();
  reply.results.forEach((result, i) => {
    const mine = (keep && cards.get(result.name)) || card(result.name);
    const old = keep ? shown.names.indexOf(result.name) + 1 : 0;
    mine.update(result, i + 1, reply.words, old);
    next.set(result.name, mine);
  });
  cards = next;
  list.replaceChildren(...[...next.values()].map(({ root }) => root));
  if (keep && list.contains(focus)) focus.focus({ preventScroll: true });
  if (!keep || still.matches) return;
  for (const [name, { root }] of next) {
    const way = before.has(name) ? before.get(name) - root.getBoundingClientRect().top : 0;
    if (way) root.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], { duration: 450, easing: "ease-in-out" });
    else if (!before.has(name)) root.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 450 });
  }
}

async function ask(again = false) {
  clearTimeout(typing);
  const [q, mine] = [box.value.trim(), ++asked];
  history.replaceState(null, "", q ? `#q=${encodeURIComponent(q)}` : location.pathname);
  if (!q) {
    [shown, cards] = [{ decision: null, q: "", names: [], reply: null }, new Map()];
    list.replaceChildren();
    [count.hidden, by("intro").hidden] = [true, false];
    by("intro-title").textContent = side.now().learnt ? `It has learnt from ${whole(side.now().learnt)} clicks so far` : "It knows nothing yet, except what you click";
    return;
  }
  try {
    const reply = await call("POST", "/demo/search/query", { q });
    if (mine !== asked) return;
    complain(null);
    rearrange(reply, again && q === shown.q);
    shown = { decision: reply.decision, q, names: reply.results.map(({ name }) => name), reply };
    [count.hidden, by("intro").hidden] = [false, true];
    const of = reply.of > reply.results.length ? `The first ${reply.results.length} of ${reply.of} candidates` : `${reply.of} found`;
    count.textContent = reply.of ? `${of}, ranked by version ${reply.model_version} of ${reply.model}. Click what you wanted.` : "Nothing has these words.";
    list.dataset.decision = reply.decision ?? "";
    if (reply.of) side.searched(reply.decisions);
    if (!again) announce(reply.of ? `${reply.results.length} results, first ${shown.names[0]}` : "No results");
  } catch (error) {
    complain(error);
  }
}

// The same results by the weights as they are now, without chance: what the click has changed.
function reorder() {
  const { weights, learnt, model } = side.now();
  const score = ({ features }) => features.reduce((sum, x, i) => sum + x * weights[i], 0);
  const results = shown.reply.results.map((result) => ({ ...result, score: score(result) })).sort((a, b) => b.score - a.score);
  rearrange({ ...shown.reply, results }, true);
  shown = { ...shown, decision: null, names: results.map(({ name }) => name), reply: { ...shown.reply, results } };
  count.replaceChildren(`These ${results.length}, ranked by version ${learnt} of ${model} without chance. `, h("button", { type: "button", class: "link", id: "search-again", onclick: () => ask() }, "Search again"), " to teach it more.");
}

// Open a result. The click is the feedback to the decision that showed it, once; the list then shows what it taught.
async function choose(name) {
  const mine = cards.get(name);
  if (mine.isOpen()) return mine.open(false);
  for (const other of cards.values()) other.open(other === mine);
  if (teaching || !shown.decision) return null;
  teaching = true;
  try {
    const place = shown.names.indexOf(name) + 1;
    await call("POST", `/v1/decisions/${shown.decision}/feedback`, { clicked: [name] });
    await side.refresh();
    announce(`It learnt that ${name}, at place ${place}, was wanted`);
    reorder();
  } catch (error) {
    complain(error);
  } finally {
    teaching = false;
  }
  return null;
}

function step(event) {
  const stops = [box, ...[...cards.values()].map(({ button }) => button)];
  const here = stops.indexOf(document.activeElement);
  const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (way && here >= 0 && stops[here + way]) {
    event.preventDefault();
    stops[here + way].focus();
  } else if (event.key === "Escape" && document.activeElement !== box && list.contains(document.activeElement)) {
    box.focus();
  } else if (event.key === "/" && !["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) {
    event.preventDefault();
    box.focus();
    box.select();
  }
}

const side = panel(by("panel"), { complain, again: () => ask(true) });
by("tries").append(...TRIES.map((q) => h("button", { type: "button", onclick: () => { box.value = q; ask(); } }, q)));
by("form").addEventListener("submit", (event) => { event.preventDefault(); if (box.value.trim() !== shown.q || !shown.decision) ask(); });
box.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => ask(), PAUSE_MS); });
document.addEventListener("keydown", step);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); box.focus(); });

async function begin() {
  try {
    await side.refresh();
    const { documents } = await get("/demo/search/documents");
    by("about").textContent = `${whole(documents)} docstrings of the standard library on this machine. It learns what you like from your clicks.`;
    box.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? box.value;
    if (box.value.trim() !== shown.q || !shown.q) await ask(); // a document that the user opened meanwhile stays open
  } catch (error) {
    complain(error);
  }
}
begin();
