// etcd gives all changes of a transaction one revision. The feed wants a number per commit, so a
// position is the revision and the place within the transaction, in one safe integer.

const PLACES = 256;

/** The position of a change: the n-th of its revision, from 0. */
export function positionOf(revision: bigint, place: number): number {
  return Number(revision) * PLACES + Math.min(place, PLACES - 2);
}

/** The position after all changes of a revision. */
export function endOfRevision(revision: bigint): number {
  return Number(revision) * PLACES + PLACES - 1;
}

/** The first revision that may have changes behind a position. */
export function firstRevisionAfter(position: number): bigint {
  const revision = BigInt(Math.floor(position / PLACES));
  return position % PLACES === PLACES - 1 ? revision + 1n : revision;
}
