// Next to the results: the weights as they move, the ranking as it improves, and visitors to order.
import { call, get } from "/ui/files/api.js";
import { announce, h, percent, set, svg, whole } from "/ui/files/dom.js";
import { topUsers } from "./search-top.js";

const USERS = 200;
const BATCH = 10;

function bars(names) {
  const rows = names.map((name) => {
    const [bar, taste, value] = [h("div", { class: "bar" }), h("div", { class: "taste", hidden: true }), h("span", { class: "value" })];
    return { bar, taste, value, root: h("li", { "data-feature": name }, h("span", {}, name), h("div", { class: "track", "aria-hidden": "true" }, bar, taste), value) };
  });
  const root = h("ul", { class: "bars", id: "weights" }, rows.map((row) => row.root));
  let before = null;
  const update = (weights, taste, reveal) => {
    const most = Math.max(...weights.map(Math.abs), 1e-9);
    const [own, theirs] = [weights, taste].map((values) => Math.hypot(...values) || 1);
    // The taste is drawn at the length that the weights have, so that only the direction is compared.
    const scale = Math.max(most, reveal ? (Math.max(...taste.map(Math.abs)) / theirs) * own : 0);
    rows.forEach((row, i) => {
      const size = (50 * Math.abs(weights[i])) / scale;
      row.bar.style.width = `${size}%`;
      row.bar.style.left = `${weights[i] < 0 ? 50 - size : 50}%`;
      row.bar.classList.toggle("minus", weights[i] < 0);
      row.taste.hidden = !reveal;
      row.taste.style.left = `${50 + (50 * (taste[i] / theirs) * own) / scale}%`;
      set(row.value, Math.abs(weights[i]) < 0.005 ? "0" : `${weights[i] < 0 ? "−" : "+"}${Math.abs(weights[i]).toFixed(2)}`);
      row.root.classList.toggle("touched", before !== null && Math.abs(before[i] - weights[i]) > 1e-9);
    });
    before = weights;
    setTimeout(() => rows.forEach((row) => row.root.classList.remove("touched")), 120);
  };
  return { root, update };
}

// A small curve whose way up is the way to better; `best` is at the top.
function line(title, kind, show, [best, worst]) {
  const [width, height, left] = [150, 74, 26];
  const now = h("span", { class: "now" }, "–");
  const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const root = h("div", { class: `line ${kind}` }, h("h3", {}, title), now, image);
  const update = (points) => {
    const low = worst(points.map(([, y]) => y));
    const last = points.at(-1)?.[0] ?? 1;
    const x = (n) => left + 4 + ((width - left - 10) * n) / Math.max(1, last);
    const y = (v) => 8 + ((height - 24) * (v - best)) / (low - best);
    image.replaceChildren(...[best, low].flatMap((v) => [svg("line", { class: "rule", x1: left, x2: width, y1: y(v), y2: y(v) }), svg("text", { x: left - 4, y: y(v) + 3.5, "text-anchor": "end" }, show(v, true))]),
      svg("text", { x: width - 2, y: height - 2, "text-anchor": "end" }, points.length ? `${whole(last)} clicks` : "no clicks yet"));
    if (!points.length) return set(now, "–");
    const path = points.map(([n, v], i) => `${i ? "L" : "M"}${x(n).toFixed(1)} ${y(v).toFixed(1)}`).join("");
    image.append(svg("path", { class: "under", d: `${path}L${x(last)} ${y(low)}L${x(points[0][0])} ${y(low)}Z` }), svg("path", { d: path }), svg("circle", { cx: x(last), cy: y(points.at(-1)[1]), r: 3 }));
    image.setAttribute("aria-label", `${title}: from ${show(points[0][1])} to ${show(points.at(-1)[1])}`);
    return set(now, points.length > 1 ? `${show(points[0][1])} → ${show(points.at(-1)[1])}` : show(points[0][1]));
  };
  return { root, update };
}

export function panel(root, { complain, again }) {
  const [name, learnt, decisions] = [h("a", { class: "chip loop", id: "model" }), h("dd", { id: "learnt" }, "0"), h("dd", {}, "0")];
  const run = h("button", { class: "main", type: "button", id: "simulate" }, `Simulate ${USERS} users`);
  const over = h("button", { type: "button", id: "reset", title: "Archive this model and begin with one that knows nothing" }, "Start over");
  const progress = h("progress", { max: USERS, "aria-label": "Simulated users", hidden: true });
  const reveal = h("input", { type: "checkbox", id: "reveal" });
  const positions = line("Mean place of the click", "", (v, axis) => v.toFixed(axis ? 0 : 1), [1, (all) => Math.max(3, Math.ceil(Math.max(...all, 1)))]);
  const same = line("Lists left unchanged", "second", (v) => percent(Math.round(100 * v) / 100), [1, () => 0]);
  const weights = h("div");
  root.append(
    h("section", { class: "card", "aria-label": "The model" },
      h("dl", { class: "counts" }, h("div", {}, h("dt", {}, "model"), h("dd", {}, name)), h("div", {}, h("dt", {}, "clicks learnt"), learnt), h("div", {}, h("dt", {}, "searches"), decisions)),
      h("div", { class: "run" }, run, over), progress,
      h("p", { class: "hint" }, "Simulated users share a taste that the model cannot see. They read downward, click, and leave when they are content.")),
    h("section", { class: "card lines", "aria-label": "The ranking over time, each point a mean over the last 50 clicks" }, positions.root, same.root),
    h("section", { class: "card", "aria-label": "The weights" },
      h("h2", {}, "What it goes by"), weights,
      h("label", { class: "check", for: "reveal" }, reveal, "mark the simulated users' hidden taste")),
    topUsers(complain));
  let [state, drawn, running] = [{ features: [], weights: [] }, null, false];

  const draw = (reply) => {
    state = reply;
    if (!drawn) weights.replaceChildren((drawn = bars(reply.features)).root);
    drawn.update(reply.weights, reply.taste, reveal.checked);
    set(name, reply.model);
    name.href = `/#model=${encodeURIComponent(reply.model)}`;
    set(learnt, whole(reply.learnt));
    set(decisions, whole(reply.decisions));
    const placed = reply.points.filter(({ position }) => position !== null);
    positions.update(placed.map(({ to, position }) => [to, position]));
    same.update(reply.points.filter(({ unchanged }) => unchanged !== null).map(({ to, unchanged }) => [to, unchanged]));
    root.dataset.learnt = reply.learnt;
  };
  const refresh = async () => draw(await get("/demo/search/weights"));

  const simulate = async () => {
    if (running) { running = false; return; }
    running = true;
    [progress.hidden, progress.value, run.textContent, over.disabled] = [false, 0, "Stop", true];
    let done = 0;
    try {
      for (; running && done < USERS; done += BATCH) {
        draw(await call("POST", "/demo/search/simulate", { users: BATCH }));
        progress.value = done + BATCH;
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      announce(`${done} simulated users have searched`);
      await again();
    } catch (error) {
      complain(error);
    } finally {
      running = false;
      [progress.hidden, run.textContent, over.disabled] = [true, `Simulate ${USERS} users`, false];
    }
  };
  const reset = async () => {
    try {
      const { model } = await call("POST", "/demo/search/reset", {});
      await refresh();
      announce(`A new model, ${model}, knows nothing yet`);
      await again();
    } catch (error) {
      complain(error);
    }
  };
  run.addEventListener("click", simulate);
  over.addEventListener("click", reset);
  reveal.addEventListener("change", () => draw(state));
  return { refresh, now: () => state, searched: (n) => set(decisions, whole(n)) };
}
