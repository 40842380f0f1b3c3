// Simulates readers in small batches, so that the page can show the learning in between.
import { call } from "./api.js";

let playing = false;
export const isPlaying = () => playing;

export async function playSample(users, refresh, began = () => {}, progress = () => {}) {
  if (playing) return null;
  playing = true;
  let name = null;
  try {
    for (let done = 0; done < users; done += 10) {
      const reply = await call("POST", "/ui/sample", { users: Math.min(10, users - done) });
      if (name === null) began(reply.model);
      name = reply.model;
      progress((done + 10) / users);
      if (done % 50 === 0) await refresh();
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  } finally {
    playing = false;
  }
  await refresh();
  return name;
}
