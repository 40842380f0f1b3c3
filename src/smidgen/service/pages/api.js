// Calls to this service, with this tab's token if one is required.
import { by } from "./dom.js";

const PLACE = "smidgen-token";
export const token = { get: () => sessionStorage.getItem(PLACE), set: (value) => sessionStorage.setItem(PLACE, value) };

export class Refused extends Error {
  constructor(status, detail) {
    super(detail.message);
    Object.assign(this, { status, code: detail.code, hint: detail.hint });
  }
}

let asking = null;

// Ask for a token once, however many calls were refused in the meantime.
function ask(why) {
  asking ??= new Promise((resolve) => {
    const [dialog, form, field, wrong] = ["ask", "ask-form", "ask-token", "ask-wrong"].map(by);
    wrong.hidden = !why;
    wrong.textContent = why;
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    form.onsubmit = (event) => {
      event.preventDefault();
      token.set(field.value.trim());
      field.value = "";
      by("sign").hidden = false;
      dialog.close();
      asking = null;
      resolve();
    };
    if (!dialog.open) dialog.showModal();
  });
  return asking;
}

// An error in full sentences: the problem and the hint.
export function sentence(error) {
  const upper = (text) => text[0].toUpperCase() + text.slice(1);
  return [error.message, error.hint].filter(Boolean).map((text) => `${upper(text).replace(/\.$/, "")}.`).join(" ");
}

export const askAgain = () => ask("");

export async function call(method, path, body) {
  const sent = token.get();
  const headers = { ...(sent && { authorization: `Bearer ${sent}` }), ...(body !== undefined && { "content-type": "application/json" }) };
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "omit" });
  if (response.status === 401 && by("ask")) { // a page without the dialog says what it was reply
    if (token.get() === sent) await ask(sent ? "That token is not valid." : "");
    return call(method, path, body);
  }
  const content = await response.json();
  if (!response.ok) throw new Refused(response.status, content.error);
  return content;
}

export const get = (path) => call("GET", path);
export const model = (name) => `/ui/models/${encodeURIComponent(name)}`;
