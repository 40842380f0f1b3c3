// Running work on a model's log, and where its log starts.
import { h, percent, set, whole } from "./dom.js";

const WORDS = { rollback: "Rolling back to an earlier version", retract: "Retracting feedback", forget: "Forgetting a key", retain: "Folding old events into the retention checkpoint" };

// Shown only while work is running; decisions and feedback continue.
export function pastLine() {
  const text = h("span", {});
  const bar = h("progress", { max: "1", "aria-label": "Progress" });
  const root = h("p", { class: "row", id: "undoing", role: "status", hidden: true }, text, bar);
  const update = (work) => {
    root.hidden = !work;
    if (!work) return;
    const share = work.of ? Math.min(1, work.done / work.of) : 0;
    set(text, `${WORDS[work.what] ?? work.what}: ${work.of ? `${percent(share)} of ${whole(work.of)}` : "started"}. Decisions and feedback continue.`);
    bar.value = share;
  };
  return { root, update };
}

export const logBegins = (base) => base && `after event ${whole(base.seq)} (version ${whole(base.version)}); older events are erased`;
