// What the service says of its loops: names, words, measures, forms, examples. The pages know no loop by themselves.
let asked = null;

export function loops() {
  asked ??= fetch("/ui/loops.json", { credentials: "omit" }).then((response) => response.json());
  asked.catch(() => { asked = null; });
  return asked;
}

// The loop of a model; one that is judged by another figure than its loop (a mean reward, say) has words for that.
export function loopOf(model, known) {
  const loop = known[model.loop], { measure } = model.quality;
  if (measure === loop.measure) return loop;
  const title = measure[0].toUpperCase() + measure.slice(1);
  return { ...loop, measure, share: false, words: { ...loop.words, curve: title, about_curve: `${title} in windows of learnt feedback, with 95 % intervals.` } };
}
