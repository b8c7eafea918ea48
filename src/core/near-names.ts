/** Longer names are compared by their beginning only, so that a hostile name costs no more than a long one. */
const maxComparedChars = 128;

/**
 * The known names that someone may have meant by `name`, nearest first, at most `most` (3 unless told).
 * Case, spaces, `_` and `-` do not count; about one character in three may differ. Empty when nothing is near.
 */
export function nearNames(name: string, known: readonly string[], most = 3): readonly string[] {
  const wanted = simplify(name);
  const candidates: { readonly name: string; readonly distance: number }[] = [];
  for (const candidate of new Set(known)) {
    const simple = simplify(candidate);
    const longerChars = Math.max(wanted.length, simple.length);
    const mayDiffer = Math.min(Math.max(1, Math.floor(longerChars / 3)), longerChars - 1);
    if (Math.abs(wanted.length - simple.length) > mayDiffer) continue;
    const distance = countEdits(wanted, simple);
    if (distance <= mayDiffer) candidates.push({ name: candidate, distance });
  }
  candidates.sort((left, right) => left.distance - right.distance);
  return candidates.slice(0, Math.max(0, most)).map((candidate) => candidate.name);
}

function simplify(name: string): string {
  return name
    .slice(0, maxComparedChars)
    .toLowerCase()
    .replace(/[\s_-]/g, '');
}

/** Insertions, deletions, replacements and swaps of two neighbours that turn one text into the other. */
function countEdits(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + (isSame ? 0 : 1),
          row > 1 && column > 1 && isSwap ? at(beforeLast, column - 2) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
