// Calls for the API page, from the examples of the loops; they work in this order.
const id = "DECISION";

export function examples(loops) {
  const all = Object.values(loops).map((loop) => loop.example).filter((one) => one.model.learner);
  const [first] = all;
  const model = `/v1/models/${first.name}`;
  return {
    "get /v1/models": [{ title: "All models", path: "/v1/models" }],
    "put /v1/models/{name}": all.map((one) => ({ title: one.title, path: `/v1/models/${one.name}`, body: one.model })),
    "get /v1/models/{name}": [{ title: "One model", path: model }],
    "delete /v1/models/{name}": [{ title: "Archive", path: model }],
    "post /v1/models/{name}/decisions": all.map((one) => ({ title: one.title, path: `/v1/models/${one.name}/decisions`, body: one.request })),
    "post /v1/models/{name}/decisions:batch": all.flatMap((one) => one.batches.map(([title, body]) => ({ title, path: `/v1/models/${one.name}/decisions:batch`, body }))),
    "get /v1/models/{name}/log": [{ title: "Log from the start", path: `${model}/log?after=0` }],
    "post /v1/decisions/{id}/feedback": all.flatMap((one) => one.feedback.map(([title, body]) => ({ title: `${one.title}: ${title}`, path: `/v1/decisions/${id}/feedback`, body }))),
    "get /v1/decisions/{id}": [{ title: "Story of a decision", path: `/v1/decisions/${id}` }],
  };
}
