import { kind } from "@stackwright/krt";
import { StateObject, StateObject_Mode, StateObject_Phase } from "@stackwright/proto/stackwright";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

type ResourcePhase =
  | "creating"
  | "ready"
  | "updating"
  | "deleting"
  | "tainted"
  | "unresolved"
  | "unknown";

const PHASES: Readonly<Record<StateObject_Phase, ResourcePhase>> = {
  [StateObject_Phase.PHASE_UNSPECIFIED]: "unknown",
  [StateObject_Phase.PHASE_CREATING]: "creating",
  [StateObject_Phase.PHASE_READY]: "ready",
  [StateObject_Phase.PHASE_UPDATING]: "updating",
  [StateObject_Phase.PHASE_DELETING]: "deleting",
  [StateObject_Phase.PHASE_TAINTED]: "tainted",
  [StateObject_Phase.PHASE_UNRESOLVED]: "unresolved",
};

/** A recorded object of a stack, without its values. */
export interface ResourceFact {
  readonly key: string;
  /** Key of the stack. */
  readonly stack: string;
  readonly address: string;
  /** Of an object that was replaced and is not deleted yet; otherwise empty. */
  readonly deposed: string;
  readonly type: string;
  readonly isData: boolean;
  /** Where it is in its life: `ready` where no run is at work on it and nothing is wrong. */
  readonly phase: ResourcePhase;
  /** Full source address of its provider. */
  readonly provider: string;
  readonly providerVersion: string;
}

const OBJECT_KIND = recordKind("StateObject", StateObject);

/** The objects of all stacks. Texts that many of them have are kept once. */
export function followedResources(): FollowedKind<ResourceFact> {
  const texts = new Map<string, string>();
  const shared = (text: string): string => {
    const found = texts.get(text);
    if (found === undefined) texts.set(text, text);
    return found ?? text;
  };
  return {
    name: "resources",
    type: OBJECT_KIND.type,
    // An object that is read again is written again; to others it is the same.
    kind: kind<ResourceFact>()({ key: ({ key }) => key }),
    keyOf: placeKey,
    project: (resource) => {
      const object = decodeRecord(OBJECT_KIND, resource);
      const { address, deposed, mode, type, phase, provider } = object;
      const { tenancy, name } = resource.id;
      const stack = name.slice(0, name.indexOf("."));
      return {
        key: placeKey(resource.id),
        stack: shared(`${tenancy.partition}/${tenancy.namespace}/${stack}`),
        address,
        deposed,
        type: shared(type),
        isData: mode === StateObject_Mode.MODE_DATA,
        // Of a later version there may be others.
        phase: PHASES[phase] ?? "unknown",
        provider: shared(provider?.source ?? ""),
        providerVersion: shared(provider?.version ?? ""),
      };
    },
  };
}
