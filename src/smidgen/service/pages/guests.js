// Links to the pages of loaded plugins.
import { h } from "./dom.js";

let asked = null;

export function guests() {
  asked ??= fetch("/ui/guests.json", { credentials: "omit" }).then((response) => response.json());
  asked.catch(() => { asked = null; });
  return asked;
}

export async function link(nav) {
  const known = await guests();
  nav.append(...known.map(({ title, path }) => h("a", { href: path }, title)));
}
