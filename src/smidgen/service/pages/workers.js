// Several workers on one store: which replied, which are healthy, which owns which model, and this one's lag.
import { set, whole } from "./dom.js";

export function tellWorkers(line, told) {
  line.hidden = !told;
  if (!told) return;
  const alive = told.workers.filter((each) => each.able).length;
  const owners = new Map();
  for (const [model, owner] of Object.entries(told.owners)) owners.set(owner, [...(owners.get(owner) ?? []), model]);
  const owned = [...owners].map(([owner, models]) => `worker ${owner} owns ${models.length > 3 ? `${models.length} models` : models.join(", ")}`);
  const lag = Math.max(0, ...Object.values(told.lag));
  set(line, [`Reply from worker ${told.worker}; ${alive} of ${told.of} workers on this machine are healthy.`,
    owned.length ? `${owned.join("; ")}.` : "",
    `Events of other workers not yet applied: ${whole(lag)}.`].filter(Boolean).join(" "));
}
