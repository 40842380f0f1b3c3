// A field of a form: label, control, hint and error.
import { h, set } from "./dom.js";

export function field(label, id, control, hint) {
  if (!control.id) control.id = id;
  const wrong = h("span", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const reply = hint && h("span", { class: "hint", id: `${id}-hint` }, hint);
  const describe = (bad) => {
    const ids = [bad && `${id}-wrong`, reply && `${id}-hint`].filter(Boolean);
    if (ids.length) control.setAttribute("aria-describedby", ids.join(" "));
    if (bad) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  describe(false);
  const root = h("div", { class: "field" }, h("label", { for: control.id }, label), control, reply, wrong);
  return { root, control, ...failing(root, wrong, describe, () => control) };
}

// One of several, each with a title and a note, as a group of radio buttons.
export function choice(legend, id, chosen) {
  const list = h("div", { class: "choices" });
  const wrong = h("p", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const root = h("fieldset", { id }, h("legend", {}, legend), list, wrong);
  const value = () => list.querySelector("input:checked")?.value ?? null;
  const fill = (options, first = options[0]?.value) => list.replaceChildren(...options.map(({ value: each, title, note }) => h("label", { class: "choice" },
    h("input", { type: "radio", name: id, value: each, checked: each === first, onchange: () => chosen(each) }),
    h("span", {}, h("b", {}, title), note && h("span", { class: "hint" }, note)))));
  const pick = (wanted) => {
    for (const input of list.querySelectorAll("input")) input.checked = input.value === wanted;
    chosen(wanted);
  };
  return { root, value, fill, pick, ...failing(root, wrong, () => {}, () => list.querySelector("input")) };
}

// A group of controls under a title, with its error.
export function group(title, id, inside, hint, first) {
  const wrong = h("p", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const root = h("fieldset", { id }, h("legend", {}, title), hint && h("p", { class: "hint" }, hint), inside, wrong);
  return { root, ...failing(root, wrong, () => {}, first) };
}

function failing(root, wrong, describe, first) {
  return {
    fail(text) {
      set(wrong, text);
      wrong.hidden = false;
      describe(true);
      for (let around = root.parentElement; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
      first()?.focus();
    },
    clear() {
      wrong.hidden = true;
      describe(false);
    },
  };
}

// The field that an error names first, by its name in the API; null if it names none.
export function named(text, fields) {
  const found = Object.keys(fields).map((name) => ({ name, at: text.search(new RegExp(`(?<![\\w])${name}(?![\\w])`)) })).filter(({ at }) => at >= 0);
  found.sort((a, b) => a.at - b.at || b.name.length - a.name.length);
  return found.length ? fields[found[0].name] : null;
}

export const names = (text) => text.split(/[,\n]/).map((part) => part.trim()).filter(Boolean);
