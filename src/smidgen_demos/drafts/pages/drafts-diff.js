// Two texts, word by word: what both have, what was taken out, what was put in.
const tokens = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]+/gu) ?? [];

// The longest common subsequence, from the end; texts here have a few hundred tokens.
function table(a, b) {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) rows[i][j] = a[i] === b[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  }
  return rows;
}

export function difference(before, after) {
  const [a, b] = [tokens(before).slice(0, 2000), tokens(after).slice(0, 2000)];
  const rows = table(a, b);
  const parts = [];
  const add = (kind, text) => {
    if (parts.at(-1)?.[0] === kind) parts.at(-1)[1] += text;
    else parts.push([kind, text]);
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) [i, j] = (add("same", a[i]), [i + 1, j + 1]);
    else if (i < a.length && (j === b.length || rows[i + 1][j] >= rows[i][j + 1])) [i, j] = (add("del", a[i]), [i + 1, j]);
    else [i, j] = (add("ins", b[j]), [i, j + 1]);
  }
  return parts;
}

// The share of the words and marks that were changed: 0 for the same text.
export function shareOf(before, after) {
  const [a, b] = [before, after].map((text) => tokens(text).filter((token) => token.trim() || token.includes("\n")).slice(0, 2000));
  const longer = Math.max(a.length, b.length);
  if (before === after || !longer) return 0;
  return 1 - table(a, b)[0][0] / longer;
}
