import { kind } from "@stackwright/krt";
import { StateObject, StateObject_Mode } from "@stackwright/proto/stackwright";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

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
      const { address, deposed, mode, type, provider } = decodeRecord(OBJECT_KIND, resource);
      const { tenancy, name } = resource.id;
      const stack = name.slice(0, name.indexOf("."));
      return {
        key: placeKey(resource.id),
        stack: shared(`${tenancy.partition}/${tenancy.namespace}/${stack}`),
        address,
        deposed,
        type: shared(type),
        isData: mode === StateObject_Mode.MODE_DATA,
        provider: shared(provider?.source ?? ""),
        providerVersion: shared(provider?.version ?? ""),
      };
    },
  };
}
