/**
 * The candidate that a misspelt name most likely meant, or undefined. A candidate counts when at
 * most two edits away (one for names of up to three letters), or equal but for letter case.
 * Of several equally near ones the first wins.
 */
export function suggestName(given: string, candidates: Iterable<string>): string | undefined {
  const allowed = given.length <= 3 ? 1 : 2;
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    if (candidate === given) continue;
    if (candidate.toLowerCase() === given.toLowerCase()) return candidate;
    if (Math.abs(candidate.length - given.length) >= bestDistance) continue;
    const distance = editDistance(given, candidate, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` Did you mean "x"?` for the nearest candidate, or the empty string: to be put after a sentence. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const name = suggestName(given, candidates);
  return name === undefined ? "" : ` Did you mean ${JSON.stringify(name)}?`;
}

/** Edits (insert, delete, replace, swap of neighbours) between two texts; stops counting at `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    let lowest = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      }
      current.push(cost);
      lowest = Math.min(lowest, cost);
    }
    if (lowest >= limit) return limit;
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? limit;
}
