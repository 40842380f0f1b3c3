// What the service says of its loops: names, words, measures, forms, examples. The pages know no loop by themselves.
let asked = null;

export function loops() {
  asked ??= fetch("/ui/loops.json", { credentials: "omit" }).then((response) => response.json());
  asked.catch(() => { asked = null; });
  return asked;
}
