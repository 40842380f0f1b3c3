// Of a model with a budget: what the latest decisions cost against the limit, and the price of each currency over time.
import { clock, h, set, short } from "./dom.js";

export function spendCards(model, chartCard) {
  return Object.keys(model.budget ?? {}).map((currency) => {
    const [cost, price] = [chartCard(`Spend (${currency})`, "", "half", "short"), chartCard(`Price (${currency})`, "Points of reward that a candidate loses when it costs more than the cheapest one. It rises while decisions cost more than the limit.", "half", "short")];
    [cost.chart.id, price.chart.id] = [`spend-${currency}`, `price-${currency}`];
    const update = (found, now) => {
      const { limit, points } = found?.[currency] ?? { limit: null, points: [] };
      const figures = now.budget?.[currency];
      const drawn = points.filter((point) => Number.isFinite(point.cost));
      const timed = drawn.length > 1 && Date.parse(drawn.at(-1).at) > Date.parse(drawn[0].at);
      const at = drawn.map((point, i) => (timed ? Date.parse(point.at) : i + 1));
      const x = timed ? { time: true } : { title: "window", whole: true };
      const most = figures?.limit ?? limit;
      set(cost.caption, figures?.mean == null ? "" : `Mean cost per decision: ${short(figures.mean)} over all, ${short(figures.recent)} over the last 200; the limit is ${short(most)}. Windows of 20 decisions.`);
      cost.show(drawn.length ? {
        kind: "lines", x, y: { tozero: true }, at,
        lines: [{ values: drawn.map((point) => point.cost), colour: "accent", dots: true }, { values: drawn.map(() => most), colour: "second", stroke: "dashed" }],
        read: (i) => [["mean cost", short(drawn[i].cost)], ["limit", short(most)], ["until", clock(drawn[i].at)]],
      } : null, drawn.length ? `${short(drawn.at(-1).cost)} in the latest window, the limit is ${short(most)}` : "", [drawn, figures]);
      price.show(drawn.length ? {
        kind: "lines", x, y: { tozero: true }, at, lines: [{ values: drawn.map((point) => point.price), colour: "good", dots: true }],
        read: (i) => [["price", short(drawn[i].price ?? 0)], ["until", clock(drawn[i].at)]],
      } : null, drawn.length ? `${short(drawn.at(-1).price ?? 0)} in the latest window` : "", drawn);
    };
    return { roots: [cost.root, price.root], update };
  });
}
