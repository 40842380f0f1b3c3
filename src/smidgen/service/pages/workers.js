// Several workers on one store: which replied, which are healthy, which owns which model, and this one's lag.
import { set, whole } from "./dom.js";

export function tellWorkers(line, reply) {
  line.hidden = !reply;
  if (!reply) return;
  const alive = reply.workers.filter((each) => each.able).length;
  const owners = new Map();
  for (const [model, owner] of Object.entries(reply.owners)) owners.set(owner, [...(owners.get(owner) ?? []), model]);
  const owned = [...owners].map(([owner, models]) => `worker ${owner} owns ${models.length > 3 ? `${models.length} models` : models.join(", ")}`);
  const lag = Math.max(0, ...Object.values(reply.lag));
  set(line, [`Reply from worker ${reply.worker}; ${alive} of ${reply.of} workers on this machine are healthy.`,
    owned.length ? `${owned.join("; ")}.` : "",
    `Events of other workers not yet applied: ${whole(lag)}.`].filter(Boolean).join(" "));
}
