import { StackAdoption } from "@stackwright/proto/stackwright";

/** Where the objects of a stack come from, if its configuration was used with another command before. */
export type StackOrigin = {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly actor: string;
} & (
  | { readonly kind: "fresh"; readonly evidence: readonly string[]; readonly forced: boolean }
  | ({ readonly kind: "state" } & AdoptedState)
);

/** The state of another command that a stack took its objects from. Empty texts: not known, or not so. */
export interface AdoptedState {
  readonly lineage: string;
  readonly serial: bigint;
  /** Type of the backend that kept it, such as `s3`; empty for a file that was named. */
  readonly backend: string;
  /** Where it is, without credentials. */
  readonly place: string;
  /** SHA-256 of what tells this place from all others, in hexadecimal. */
  readonly placeDigest: string;
  readonly workspace: string;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** Version of the command that wrote it. */
  readonly terraformVersion: string;
  /** Changes of the plan that was shown before, and which were accepted. */
  readonly acceptedChanges: number;
  /** ID of the lock that stays in the backend. */
  readonly lockId: string;
  /** Name of the file that the state was renamed to. */
  readonly renamedTo: string;
  readonly mirror: StateMirrorRecord;
  /** The backend has the state again: the stack takes no further runs. */
  readonly handedBack: boolean;
}

/** The copy of the state that is kept in the old backend. */
export interface StateMirrorRecord {
  readonly enabled: boolean;
  /** Revision that was written last; 0: none yet. */
  readonly revision: bigint;
  readonly serial: bigint;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** Why the last attempt failed. */
  readonly problem: string;
  /** SHA-256 of the copy that was announced last, in hexadecimal; empty: not known. */
  readonly sha256: string;
  /** SHA-256 of what that copy replaces; empty: not known, or nothing was there. */
  readonly previousSha256: string;
}

/** A mirror that is not kept. */
export const NO_MIRROR: StateMirrorRecord = Object.freeze({
  enabled: false,
  revision: 0n,
  serial: 0n,
  timeMs: 0,
  problem: "",
  sha256: "",
  previousSha256: "",
});

/** The serial of the version 4 state of a revision: larger than that of every earlier revision, and of the adopted state. */
export function exportedSerial({ serial }: Pick<AdoptedState, "serial">, revision: bigint): bigint {
  return serial + revision;
}

export function decodeOrigin({ timeMs, actor, origin }: StackAdoption): StackOrigin | undefined {
  const base = { timeMs: Number(timeMs), actor };
  switch (origin?.$case) {
    case "fresh": {
      const { evidence, forced } = origin.value;
      return { ...base, kind: "fresh", evidence, forced };
    }
    case "state": {
      const { mirror, ...state } = origin.value;
      return {
        ...base,
        kind: "state",
        ...state,
        mirror: mirror === undefined ? NO_MIRROR : { ...mirror, timeMs: Number(mirror.timeMs) },
      };
    }
    case undefined:
      return undefined;
    default:
      return origin satisfies never;
  }
}

export function encodeOrigin(origin: StackOrigin): StackAdoption {
  const { timeMs, actor } = origin;
  const base = { timeMs: BigInt(timeMs), actor };
  if (origin.kind === "fresh") {
    const value = { evidence: [...origin.evidence], forced: origin.forced };
    return StackAdoption.fromPartial({ ...base, origin: { $case: "fresh", value } });
  }
  const { kind: _kind, timeMs: _timeMs, actor: _actor, mirror, ...state } = origin;
  const value = { ...state, mirror: { ...mirror, timeMs: BigInt(mirror.timeMs) } };
  return StackAdoption.fromPartial({ ...base, origin: { $case: "state", value } });
}
