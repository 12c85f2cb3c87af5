import {
  type DiffResponse,
  DiffResponse_DiffChanges,
  type PropertyDiff,
  PropertyDiff_Kind,
} from "@stackwright/proto/pulumirpc";
import { topLevelName } from "./config-filter.ts";

const { DIFF_NONE, DIFF_SOME, DIFF_UNKNOWN } = DiffResponse_DiffChanges;

/**
 * One verdict of several, the most drastic action dominating.
 *
 * - `changes`: SOME before UNKNOWN before NONE.
 * - `replaces`: what any server wants replaced; `deleteBeforeReplace` if any server wants that.
 * - `detailedDiff`: united when every server that reports changes gives details; on one path a kind
 *   that replaces wins over one that does not, and the earlier server otherwise.
 * - `diffs`: what any server calls changed. What is replaced is left out, unless the detailed diff speaks
 *   of it: the protocol wants a name in `diffs` for every top-level name there.
 * - `stables`: what any server calls stable and none calls changed.
 *
 * Lists are sorted, so that equal replies in any order give equal results. A single reply is returned as
 * it is. Source: the muxer's documentation (seed 000), DiffConfig.
 */
export function combineDiffs(replies: readonly DiffResponse[]): DiffResponse {
  const [only] = replies;
  if (replies.length === 1 && only !== undefined) return only;

  const detailed = replies.every(({ changes }) => changes === DIFF_NONE)
    ? replies.some(hasDetails)
    : replies.every((reply) => reply.changes === DIFF_NONE || hasDetails(reply));
  const detailedDiff = detailed ? uniteDetails(replies) : new Map<string, PropertyDiff>();
  const named = new Set([...detailedDiff.keys()].map(topLevelName));

  const replaces = new Set(replies.flatMap((reply) => reply.replaces));
  const diffs = new Set(
    replies
      .flatMap((reply) => reply.diffs)
      .filter((name) => !replaces.has(name) || named.has(name)),
  );
  const stables = new Set(
    replies
      .flatMap((reply) => reply.stables)
      .filter((name) => !replaces.has(name) && !diffs.has(name)),
  );
  return {
    changes: mostDrastic(replies.map(({ changes }) => changes)),
    replaces: [...replaces].toSorted(),
    diffs: [...diffs].toSorted(),
    stables: [...stables].toSorted(),
    deleteBeforeReplace: replies.some(({ deleteBeforeReplace }) => deleteBeforeReplace),
    detailedDiff,
    hasDetailedDiff: detailed,
  };
}

/** Some servers fill the map and forget the flag. */
function hasDetails({ hasDetailedDiff, detailedDiff }: DiffResponse): boolean {
  return hasDetailedDiff || detailedDiff.size > 0;
}

function mostDrastic(verdicts: readonly DiffResponse_DiffChanges[]): DiffResponse_DiffChanges {
  if (verdicts.includes(DIFF_SOME)) return DIFF_SOME;
  return verdicts.every((verdict) => verdict === DIFF_NONE) ? DIFF_NONE : DIFF_UNKNOWN;
}

const REPLACING: ReadonlySet<PropertyDiff_Kind> = new Set([
  PropertyDiff_Kind.ADD_REPLACE,
  PropertyDiff_Kind.DELETE_REPLACE,
  PropertyDiff_Kind.UPDATE_REPLACE,
]);

function uniteDetails(replies: readonly DiffResponse[]): Map<string, PropertyDiff> {
  const united = new Map<string, PropertyDiff>();
  for (const { detailedDiff } of replies) {
    for (const [path, diff] of detailedDiff) {
      const present = united.get(path);
      if (present === undefined || (!REPLACING.has(present.kind) && REPLACING.has(diff.kind))) {
        united.set(path, diff);
      }
    }
  }
  return united;
}
