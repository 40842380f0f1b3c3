// Compares a champion with its shadow or challenger, and promotes it. Shown on both models' pages.
import { call, get, sentence } from "./api.js";
import { announce, h, percent, set, short, svg, whole } from "./dom.js";
import { dialog } from "./edit.js";

const v1 = (name) => `/v1/models/${encodeURIComponent(name)}`;
const page = (name) => h("a", { href: `/#model=${encodeURIComponent(name)}` }, name);
const CHIPS = { better: ["good", "better"], worse: ["problem", "worse"], "not yet": ["", "undecided"] };

// The interval of the difference; the middle is zero.
function whisker({ value, low, high, enough }) {
  const [width, height, middle] = [320, 28, 14];
  const image = svg("svg", { class: "whisker", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  image.append(svg("line", { class: "nothing", x1: width / 2, x2: width / 2, y1: 2, y2: height - 2 }));
  if (!enough) return image;
  const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const x = (v) => (width / 2 + (v / reach) * (width / 2 - 8)).toFixed(1);
  image.append(svg("line", { class: "range", x1: x(low), x2: x(high), y1: middle, y2: middle }), svg("circle", { cx: x(value), cy: middle, r: 5 }));
  return image;
}

function arms(found) {
  return Object.entries(found.arms).map(([name, arm]) => h("div", {},
    h("div", { class: "value" }, arm.value === null ? "–" : short(arm.value)),
    h("div", { class: "label" }, page(name), `: ${found.measure}, ${whole(arm.of)} closed${arm.open ? `, ${whole(arm.open)} open` : ""}`)));
}

function promoteDialog(found, version, done) {
  const other = found.challenger ?? found.shadow;
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const go = async (event) => {
    event.preventDefault();
    try {
      const reply = await call("POST", `${v1(other)}:promote`, {});
      root.close();
      announce(`${other} was promoted: ${found.champion} is at version ${reply.model_version}`);
      await done();
    } catch (error) {
      wrong.textContent = sentence(error);
      wrong.hidden = false;
    }
  };
  const doubt = found.verdict === "better" ? "" : found.verdict === "worse" ? ` So far ${other} is worse.` : " It is not yet known which is better.";
  const root = dialog("promote", `Promote ${other}?`,
    h("form", { class: "stack", onsubmit: go },
      h("p", {}, `${found.champion} will decide with the settings and the learned state of ${other}.${doubt}`),
      h("p", {}, `Apps keep calling ${found.champion}, and feedback on open decisions is still learned. To undo, roll ${found.champion} back to version ${whole(version)}.`),
      wrong,
      h("div", { class: "row end" }, h("button", { type: "button", onclick: () => root.close() }, "Not now"), h("button", { class: "main", type: "submit", id: "promote-it" }, `Promote ${other}`))));
}

export function compareCard(name, again) {
  const chip = h("span", { class: "chip", id: "verdict" });
  const words = h("p", { id: "compare-words" });
  const [picture, figures, foot] = [h("div", {}), h("div", { class: "tiles bare" }), h("p", { class: "muted" })];
  const title = h("h2", { id: "compare-title" }, "Comparison");
  const button = h("button", { type: "button", id: "promote" });
  const root = h("section", { class: "card stack compare", "aria-labelledby": "compare-title", hidden: true },
    h("div", { class: "row between" }, title, chip), words, picture, figures, h("div", { class: "row between" }, foot, button));
  let drawn = "";

  const apprentice = ({ agreement }) => {
    root.hidden = !agreement;
    if (!agreement) return;
    set(words, `The app chooses and the model learns from it. In ${percent(agreement.value)} of the last ${whole(agreement.of)} requests the model would have chosen the same.`);
    set(title, "Apprentice");
    [chip, picture, figures, foot, button].forEach((part) => { part.hidden = true; });
  };

  const update = async (now) => {
    const champion = now.shadow_of?.model ?? now.challenger_of?.model ?? now.name;
    if (champion === now.name && !now.shadow && !now.challenger) {
      apprentice(now);
      return;
    }
    const [found, theirs] = await Promise.all([get(`${v1(name)}/compare`), champion === now.name ? now : get(v1(champion))]);
    const other = found.challenger ?? found.shadow;
    root.hidden = false;
    root.dataset.verdict = found.verdict;
    [chip, picture, figures, foot].forEach((part) => { part.hidden = false; });
    set(title, `${other}, ${found.shadow ? "the shadow" : "the challenger"} of ${champion}`);
    const [kind, said] = CHIPS[found.verdict];
    chip.className = `chip ${kind}`;
    set(chip, said);
    set(words, found.in_words);
    const to = found.decisions_to_go;
    set(foot, found.verdict !== "not yet" ? "" : to === null ? "" : `About ${whole(to)} more decisions needed.`);
    const content = JSON.stringify([found.difference, found.arms]);
    if (content !== drawn) {
      picture.replaceChildren(whisker(found.difference));
      figures.replaceChildren(...arms(found));
      drawn = content;
    }
    button.hidden = Boolean(now.archived_at || theirs.archived_at);
    button.className = found.verdict === "better" ? "main" : "";
    set(button, `Promote ${other}…`);
    button.onclick = () => promoteDialog(found, theirs.model_version, again);
  };
  return { root, update };
}
