// Several workers over one store: who answered, who lives, who owns which model, and what this one has yet to read.
import { set, whole } from "./dom.js";

export function tellWorkers(line, told) {
  line.hidden = !told;
  if (!told) return;
  const alive = told.workers.filter((each) => each.able).length;
  const owners = new Map();
  for (const [model, owner] of Object.entries(told.owners)) owners.set(owner, [...(owners.get(owner) ?? []), model]);
  const owned = [...owners].map(([owner, models]) => `${owner} looks after ${models.length > 3 ? `${models.length} models` : models.join(", ")}`);
  const lag = Math.max(0, ...Object.values(told.lag));
  set(line, [`Worker ${told.worker} answered; ${alive} of ${told.of} on this machine are well.`,
    owned.length ? `${owned.join("; ")}.` : "",
    `Events of others that it has yet to read: ${whole(lag)}.`].filter(Boolean).join(" "));
}
