// Calls that work one after the other, for the API page.
const id = "DECISION";
const candidates = [{ id: "a", features: { bm25: 1.2, fresh: 0.1 } }, { id: "b", features: { bm25: 0.4, fresh: 0.9 } }];

export const EXAMPLES = {
  "get /v1/models": [{ title: "All models", path: "/v1/models" }],
  "put /v1/models/{name}": [
    { title: "Rank", path: "/v1/models/news", body: { loop: "rank", learner: "PreferencePerceptron", features: ["bm25", "fresh"] } },
    { title: "Choose, one learner per user", path: "/v1/models/next-song", body: { loop: "choose", learner: "PreferencePerceptron", features: ["tempo", "energy"], keyed: true } },
    { title: "Label, features hashed by name", path: "/v1/models/mail", body: { loop: "label", learner: "Confidit", features: { hashed: 65536 }, labels: ["spam", "work", "family"] } },
    { title: "Filter", path: "/v1/models/alerts", body: { loop: "filter", learner: "RidgeFil", params: { dim: 3 } } },
    { title: "Tune", path: "/v1/models/prices", body: { loop: "tune", learner: "OGDEG", params: { space: { type: "Ball", dim: 3, radius: 1.0 }, loss_bound: 1.0, delta: 0.2 } } },
  ],
  "get /v1/models/{name}": [{ title: "One model", path: "/v1/models/news" }],
  "delete /v1/models/{name}": [{ title: "Archive", path: "/v1/models/news" }],
  "post /v1/models/{name}/decisions": [
    { title: "Rank", path: "/v1/models/news/decisions", body: { candidates, top: 5 } },
    { title: "Choose", path: "/v1/models/next-song/decisions", body: { key: "ann", candidates: [{ id: "x", features: [0.7, 0.2] }, { id: "y", features: [0.1, 0.8] }] } },
    { title: "Label", path: "/v1/models/mail/decisions", body: { features: { "word:invoice": 1, "word:free": 2 } } },
    { title: "Filter", path: "/v1/models/alerts/decisions", body: { features: [0.2, 0.9, 0.1] } },
    { title: "Tune", path: "/v1/models/prices/decisions", body: {} },
  ],
  "post /v1/models/{name}/decisions:batch": [
    { title: "Two at once", path: "/v1/models/alerts/decisions:batch", body: { decisions: [{ features: [0.2, 0.9, 0.1] }, { features: [0.8, 0.1, 0.3] }] } },
    { title: "The same, compact", path: "/v1/models/alerts/decisions:batch", body: { features: { shape: [2, 3], f32: "zcxMPmZmZj/NzMw9zcxMP83MzD2amZk+" } } },
  ],
  "get /v1/models/{name}/log": [{ title: "The log from the beginning", path: "/v1/models/news/log?after=0" }],
  "post /v1/decisions/{id}/feedback": [
    { title: "Rank: a click", path: `/v1/decisions/${id}/feedback`, body: { clicked: ["b"] } },
    { title: "Rank: a better order", path: `/v1/decisions/${id}/feedback`, body: { better: ["b", "a"] } },
    { title: "Choose", path: `/v1/decisions/${id}/feedback`, body: { better: "y" } },
    { title: "Label", path: `/v1/decisions/${id}/feedback`, body: { correct: true } },
    { title: "Filter", path: `/v1/decisions/${id}/feedback`, body: { relevant: false } },
    { title: "Tune", path: `/v1/decisions/${id}/feedback`, body: { loss: 0.3 } },
  ],
  "get /v1/decisions/{id}": [{ title: "Its story", path: `/v1/decisions/${id}` }],
};
