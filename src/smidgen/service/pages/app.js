// Switches views and refreshes the current one every two seconds while the page is visible.
import { askAgain, token } from "./api.js";
import { announce, by, h } from "./dom.js";
import { link } from "./guests.js";
import { modelView } from "./model.js";
import { modelsView } from "./models.js";

const EVERY_MS = 2000;
let view = null;
let busy = false;

function status(kind, text) {
  by("live").className = `live ${kind}`;
  by("live").lastElementChild.textContent = text;
}

export async function refresh() {
  if (busy || !view || document.visibilityState !== "visible") return;
  busy = true;
  const mine = view;
  try {
    await mine.refresh();
    status("on", "live");
  } catch (error) {
    const missing = error.status === 404 && mine.missing;
    if (missing) mine.missing();
    status(missing ? "on" : "off", missing ? "live" : error.status ? (error.message.length > 40 ? "error" : error.message) : "no connection");
  } finally {
    busy = false;
  }
  if (mine !== view) refresh();
}

function show() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const name = asked.get("model");
  const first = view === null;
  view = name ? modelView(name, refresh) : modelsView(refresh);
  document.title = name ? `${name} · smidgen` : "smidgen";
  const main = by("main");
  main.replaceChildren(view.root ?? h("p", {}, ""));
  if (!first) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
    announce(name ? `Model ${name}` : "Models");
  }
  refresh();
}

addEventListener("hashchange", () => location.hash !== "#main" && show());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  by("main").focus();
});
document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? refresh() : status("", "paused")));
by("sign").addEventListener("click", () => askAgain().then(refresh));
by("sign").hidden = !token.get();
setInterval(refresh, EVERY_MS);
link(document.querySelector("header nav"));
show();
