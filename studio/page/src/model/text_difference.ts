// The difference between two texts, by words.

export interface Piece {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Words, numbers, white space and single signs. Scripts without spaces are compared by characters. */
const TOKENS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}_](?:[\p{L}\p{M}\p{N}_]|['’](?=\p{L}))*|\p{N}+|\n|[^\S\n]+|./gsu;
const LINES = /[^\n]*\n|[^\n]+/g;

/** The most changes that are looked for: the time and the memory grow with their square. */
const CHANGES = 1_000;

/** Returns the pieces of both texts in order; of what was replaced, the old piece first. */
export function textDifference(before: string, after: string): Piece[] {
  for (const tokens of [TOKENS, LINES]) {
    const pieces = compared(before.match(tokens) ?? [], after.match(tokens) ?? []);
    if (pieces !== null) return tidied(pieces);
  }
  // The texts have little in common.
  return [
    { kind: "removed", text: before },
    { kind: "added", text: after },
  ];
}

/** Compares two lists of tokens; `null` if they differ in too much. */
function compared(before: readonly string[], after: readonly string[]): Piece[] | null {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const [old, fresh] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const middle = shortest(old, fresh);
  if (middle === null) return null;
  const same = (tokens: readonly string[]): Piece => ({ kind: "same", text: tokens.join("") });
  return [same(before.slice(0, start)), ...middle, same(before.slice(before.length - end))];
}

/** Returns a shortest list of changes, by the algorithm of Myers. */
function shortest(before: readonly string[], after: readonly string[]): Piece[] | null {
  const [rows, columns] = [before.length, after.length];
  const most = Math.min(rows + columns, CHANGES);
  // The furthest row on each diagonal, and a copy of it before each round.
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const rounds: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes += 1) {
    rounds.push(furthest.slice(middle - changes - 1, middle + changes + 2));
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const [left, right] = [furthest[middle + diagonal - 1] ?? 0, furthest[middle + diagonal + 1] ?? 0];
      let row = diagonal === -changes || (diagonal !== changes && left < right) ? right : left + 1;
      while (row < rows && row - diagonal < columns && before[row] === after[row - diagonal]) row += 1;
      furthest[middle + diagonal] = row;
      if (row >= rows && row - diagonal >= columns) return traced(before, after, rounds);
    }
  }
  return null;
}

/** Follows the rounds back from the end of both lists. */
function traced(before: readonly string[], after: readonly string[], rounds: readonly Int32Array[]): Piece[] {
  const pieces: Piece[] = [];
  let [row, column] = [before.length, after.length];
  for (let changes = rounds.length - 1; changes >= 0; changes -= 1) {
    const round = rounds[changes];
    const at = (diagonal: number) => round?.[diagonal + changes + 1] ?? 0;
    const diagonal = row - column;
    const isDown = diagonal === -changes || (diagonal !== changes && at(diagonal - 1) < at(diagonal + 1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const [fromRow, fromColumn] = changes === 0 ? [0, 0] : [at(from), at(from) - from];
    while (row > fromRow && column > fromColumn) {
      pieces.push({ kind: "same", text: before[--row] ?? "" });
      column -= 1;
    }
    if (changes === 0) break;
    if (isDown) pieces.push({ kind: "added", text: after[--column] ?? "" });
    else pieces.push({ kind: "removed", text: before[--row] ?? "" });
  }
  return pieces.reverse();
}

/** Joins pieces of one kind. A space between two changes counts as changed, so that phrases are shown whole. */
function tidied(pieces: readonly Piece[]): Piece[] {
  const done: Piece[] = [];
  let [removed, added, between] = ["", "", ""];
  const close = () => {
    if (removed !== "") done.push({ kind: "removed", text: removed });
    if (added !== "") done.push({ kind: "added", text: added });
    [removed, added] = ["", ""];
  };
  for (const { kind, text } of pieces) {
    if (text === "") continue;
    if (kind === "same") {
      between += text;
      continue;
    }
    const isBridge = between !== "" && /^[^\S\n]$/.test(between) && (removed !== "" || added !== "");
    if (isBridge) {
      removed += between;
      added += between;
    } else if (between !== "") {
      close();
      done.push({ kind: "same", text: between });
    }
    between = "";
    if (kind === "removed") removed += text;
    else added += text;
  }
  close();
  if (between !== "") done.push({ kind: "same", text: between });
  return done;
}

/** A piece, or the middle of a long one that is the same in both texts. */
export type Folded = Piece | { readonly kind: "gap"; readonly text: string };

/** The number of characters that are kept beside a change. */
const CONTEXT = 120;

/** Replaces long texts that are the same by gaps; between words, where there are some. */
export function folded(pieces: readonly Piece[]): Folded[] {
  return pieces.flatMap((piece, at): Folded[] => {
    if (piece.kind !== "same") return [piece];
    const { text } = piece;
    const head = at === 0 ? 0 : cut(text, CONTEXT, 1);
    const tail = at === pieces.length - 1 ? text.length : cut(text, text.length - CONTEXT, -1);
    if (tail - head < CONTEXT) return [piece];
    const parts: Folded[] = [
      { kind: "same", text: text.slice(0, head) },
      { kind: "gap", text: text.slice(head, tail) },
      { kind: "same", text: text.slice(tail) },
    ];
    return parts.filter((part) => part.text !== "");
  });
}

/** Returns the next position at a space in one direction, if there is one nearby; never one inside a character. */
function cut(text: string, at: number, by: 1 | -1): number {
  if (at <= 0 || at >= text.length) return Math.max(0, Math.min(text.length, at));
  for (let step = 0; step < 24; step += 1) {
    const place = at + step * by;
    if (place <= 0 || place >= text.length) break;
    if (/\s/.test(text[place] ?? "")) return place;
  }
  const isInside = /[\udc00-\udfff]/.test(text[at] ?? "");
  return isInside ? at - 1 : at;
}
