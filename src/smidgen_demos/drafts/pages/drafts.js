// Messages, an editor, and what sending does: teach, show what was changed, and bring the next draft.
import { call, get, sentence } from "/ui/files/api.js";
import { announce, by, h, percent, set } from "/ui/files/dom.js";
import { difference, shareOf } from "./drafts-diff.js";

const ROUNDS = 8;
const LOOK_MS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 80 : 900;
const BARS = 40;
const [form, box, wrong, panel] = ["form", "reply", "wrong", "panel"].map(by);
let letter = null;
let result = [];
let busy = false;
let helper = null;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function complain(error) {
  wrong.hidden = !error;
  if (error) wrong.textContent = error.status ? sentence(error) : "There is no connection to the service.";
}

async function tried(work) {
  try {
    const found = await work();
    complain(null);
    return found;
  } catch (error) {
    complain(error);
    return null;
  }
}

function showChange() {
  const share = shareOf(letter.draft, box.value);
  set(by("changed"), share ? `You have changed ${percent(Math.round(share * 100) / 100)} of it.` : "As it is, or as you would write it?");
  set(by("send"), share ? "Send" : "Send as it is");
  by("undo").hidden = share === 0;
}

function showLetter(given) {
  letter = given;
  set(by("from"), given.from);
  set(by("face"), given.from[0]);
  set(by("subject"), given.subject);
  set(by("text"), given.text);
  set(by("about"), `the best of ${given.of} drafts, by ${given.model_version ? `${given.model_version} replies of yours` : "nothing yet"}`);
  box.value = given.draft;
  for (const [element, name] of [[by("letter"), "new"], [form, "shown"]]) {
    element.hidden = false;
    element.classList.remove(name);
    void element.offsetWidth; // so that the animation starts again
    element.classList.add(name);
  }
  showChange();
}

function showSent(before, after) {
  const share = shareOf(before, after);
  by("sent").hidden = false;
  set(by("sent-title"), share ? "What was changed last" : "Sent as it was");
  set(by("sent-share"), share ? `${percent(Math.round(share * 100) / 100)} changed` : "nothing changed");
  by("sent-share").className = share ? "chip" : "chip same";
  by("diff").replaceChildren(...difference(before, after).map(([kind, text]) => (kind === "same" ? text : h(kind, {}, text))));
  const bar = h("li", { class: share ? "" : "same", title: share ? `${percent(Math.round(share * 100) / 100)} changed` : "sent as it was" });
  bar.style.setProperty("height", `${Math.max(6, 100 * share)}%`);
  by("strip").append(bar);
  while (by("strip").children.length > BARS) by("strip").firstChild.remove();
}

function showTaste(found) {
  panel.dataset.learnt = found.learnt;
  set(by("model"), found.model);
  const lines = found.taste.slice(0, 10).map((text) => h("li", { class: result.length && !result.includes(text) ? "touched" : "" }, text));
  const left = 3 - found.learnt;
  const none = found.learnt === 0 ? "Nothing yet: it says only what several edits agree on." : left > 0 ? `Nothing yet: ${left === 1 ? "one more reply" : "two more replies"} and it will say something.` : "Nothing that enough edits agree on.";
  by("taste").replaceChildren(...(lines.length ? lines : [h("li", { class: "none" }, none)]));
  by("prompt-hint").hidden = !lines.length;
  if (lines.length && found.taste.join() !== result.join()) announce(`It has learnt: ${found.taste.slice(0, 10).join("; ")}.`);
  result = found.taste;
  setTimeout(() => lines.forEach((line) => line.classList.remove("touched")), 60);
  if (!by("colleagues").children.length) {
    by("colleagues").append(...found.colleagues.map(({ who, name, about }) => h("button", { type: "button", "data-who": who, "aria-pressed": "false", onclick: () => help(who) }, h("strong", {}, name), h("span", {}, about))));
  }
}

const refresh = () => tried(async () => showTaste(await get("/demo/drafts/taste")));
const next = () => tried(async () => showLetter(await call("POST", "/demo/drafts/next", {})));

async function send() {
  const [sent, before, after] = [letter.decision, letter.draft, box.value];
  const answer = await tried(() => call("POST", `/v1/decisions/${sent}/feedback`, { edited: after }));
  if (!answer) return false;
  showSent(before, after);
  await refresh();
  await next();
  return true;
}

async function once(work) {
  if (busy) return;
  busy = true;
  for (const id of ["send", "over"]) by(id).disabled = true;
  try {
    await work();
  } finally {
    busy = false;
    for (const id of ["send", "over"]) by(id).disabled = false;
  }
}

// A colleague answers some messages while one looks on; a second press stops it.
async function help(who) {
  if (helper) {
    helper = null;
    return;
  }
  helper = who;
  for (const button of by("colleagues").children) button.setAttribute("aria-pressed", String(button.dataset.who === who));
  await once(async () => {
    for (let round = 0; round < ROUNDS && helper === who; round += 1) {
      const made = await tried(() => call("POST", "/demo/drafts/colleague", { who, number: letter.number }));
      if (!made) break;
      await pause(LOOK_MS / 2);
      box.value = made.edited;
      showChange();
      await pause(LOOK_MS);
      if (!(await send())) break;
    }
  });
  helper = null;
  for (const button of by("colleagues").children) button.setAttribute("aria-pressed", "false");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  once(send);
});
box.addEventListener("input", showChange);
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
by("undo").addEventListener("click", () => {
  box.value = letter.draft;
  showChange();
  box.focus();
});
by("over").addEventListener("click", () => once(async () => {
  if (await tried(() => call("POST", "/demo/drafts/reset", {}))) {
    result = [];
    by("strip").replaceChildren();
    by("sent").hidden = true;
    await refresh();
    await next();
    announce("A new model, which knows nothing.");
  }
}));

await refresh();
await next();
