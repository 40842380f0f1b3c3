// Users who only look at the top: the default for clicks next to a learner that always shows its best list.
import { call } from "/ui/files/api.js";
import { announce, h, set, svg } from "/ui/files/dom.js";

const RUNS = 10;
const SAID = { clicks: "draws its lists, the default for clicks", better: "always shows its best list" };
// The half width of a 95 % interval of the mean, by the spread of the runs (Student's t for up to ten).
const T = [0, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26];
function half(values) {
  const [n, middle] = [values.length, values.reduce((sum, v) => sum + v, 0) / values.length];
  return T[n - 1] * Math.sqrt(values.reduce((sum, v) => sum + (v - middle) ** 2, 0) / (n - 1) / n);
}
const mean = (rows) => rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);

function chart(reply) {
  const [width, height, left, bottom] = [300, 150, 30, 22];
  const { users, ceiling } = reply[0];
  const x = (n) => left + ((width - left - 8) * n) / users.at(-1);
  const y = (v) => 6 + (height - bottom - 6) * (1 - v);
  const path = (values) => values.map((v, i) => `${i ? "L" : "M"}${x(users[i]).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", id: "top-chart" });
  for (const v of [0, 0.5, 1]) image.append(svg("line", { class: "rule", x1: left, x2: width - 8, y1: y(v), y2: y(v) }), svg("text", { x: left - 5, y: y(v) + 3.5, "text-anchor": "end" }, String(v)));
  for (const n of [0, 100, 200]) image.append(svg("text", { x: x(n), y: height - 6, "text-anchor": n ? "end" : "start" }, n === 200 ? "200 users" : String(n)));
  image.append(svg("path", { class: "ceiling", d: path(users.map(() => ceiling)) }));
  const means = reply[0].curves.map((_, c) => mean(reply.map((run) => run.curves[c].values)));
  reply[0].curves.forEach((_, c) => {
    for (const run of reply) image.append(svg("path", { class: `one curve-${c}`, d: path(run.curves[c].values) }));
    image.append(svg("path", { class: `curve-${c}`, d: path(means[c]) }), svg("circle", { class: `curve-${c}`, cx: x(users.at(-1)), cy: y(means[c].at(-1)), r: 3 }));
  });
  const ends = reply[0].curves.map(({ learner }, c) => `${learner} ${means[c].at(-1).toFixed(2)}`);
  image.setAttribute("aria-label", `nDCG after ${users.at(-1)} users: ${ends.join(", ")}; somebody who knew the taste ${ceiling.toFixed(2)}`);
  return { image, means };
}

export function topUsers(complain) {
  const button = h("button", { type: "button", id: "top-users" }, "Simulate 200 users who only look at the top");
  const [place, legend] = [h("div", { class: "top-chart" }), h("ul", { class: "legend" })];
  const note = h("p", { class: "hint" }, "They look at the first result, at the second half the time, at the third a third of the time, and so on; and they click on useless things too. What stands on top is clicked more, whatever it is.");
  const show = (reply) => {
    const { image, means } = chart(reply);
    place.replaceChildren(image);
    legend.replaceChildren(...reply[0].curves.map(({ learner, feedback }, c) => h("li", {}, h("i", { class: `curve-${c}` }), h("span", {}, h("b", {}, learner), ` ${SAID[feedback] ?? ""}`), h("span", {}, h("b", { class: "end" }, means[c].at(-1).toFixed(2)), reply.length > 2 && ` ± ${half(reply.map((run) => run.curves[c].values.at(-1))).toFixed(2)}`))),
      h("li", {}, h("i", { class: "ceiling" }), h("span", {}, "somebody who knows their taste"), h("b", { class: "end" }, reply[0].ceiling.toFixed(2))));
    set(note, `nDCG at ${reply[0].held_out} questions that neither has seen, without chance; the mean of ${reply.length} ${reply.length > 1 ? "runs" : "run"}, each run thin. Both got the same users with the same questions; it is played aside, and teaches the model above nothing.`);
    place.dataset.runs = reply.length;
  };
  button.addEventListener("click", async () => {
    button.disabled = true;
    const reply = [];
    try {
      for (let run = 0; run < RUNS; run += 1) {
        reply.push(await call("POST", "/demo/search/compare", { run }));
        show(reply);
        if (run === 0) legend.scrollIntoView({ block: "nearest" });
      }
      announce(place.querySelector("svg").getAttribute("aria-label"));
    } catch (error) {
      complain(error);
    } finally {
      button.disabled = false;
    }
  });
  return h("section", { class: "card", "aria-labelledby": "top-title" }, h("h2", { id: "top-title" }, "What if they only look at the top?"), button, place, legend, note);
}
