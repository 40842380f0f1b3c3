// The service describes its loops: names, texts, measures, forms, examples. The pages hard-code none.
let asked = null;

export function loops() {
  asked ??= fetch("/ui/loops.json", { credentials: "omit" }).then((response) => response.json());
  asked.catch(() => { asked = null; });
  return asked;
}

// The loop of a model; a model with another measure than its loop (e.g. mean reward) gets texts for it.
export function loopOf(model, known) {
  const loop = known[model.loop], { measure } = model.quality;
  if (measure === loop.measure) return loop;
  const title = measure[0].toUpperCase() + measure.slice(1);
  return { ...loop, measure, share: false, words: { ...loop.words, curve: title, about_curve: `${title} in windows of learned feedback, with 95 % intervals.` } };
}
