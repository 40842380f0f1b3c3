// A model's past: what is being done to it at the moment, and where its log begins.
import { h, percent, set, whole } from "./dom.js";

const WORDS = { rollback: "Going back to an earlier version", retract: "Taking back an answer", forget: "Forgetting a key", retain: "Folding old events into the base state" };

// One line that is there only while something is under way; decisions and feedback go on meanwhile.
export function pastLine() {
  const text = h("span", {});
  const bar = h("progress", { max: "1", "aria-label": "How far it is" });
  const root = h("p", { class: "row", id: "undoing", role: "status", hidden: true }, text, bar);
  const update = (work) => {
    root.hidden = !work;
    if (!work) return;
    const share = work.of ? Math.min(1, work.done / work.of) : 0;
    set(text, `${WORDS[work.what] ?? work.what}: ${work.of ? `${percent(share)} of ${whole(work.of)}` : "begun"}. Decisions and feedback go on.`);
    bar.value = share;
  };
  return { root, update };
}

export const logBegins = (base) => base && `after event ${whole(base.seq)} (version ${whole(base.version)}); older ones are folded and erased`;
