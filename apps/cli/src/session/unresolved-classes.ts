import type { StateObject } from "@stackwright/core";
import { CommandError } from "../command-error.ts";

/** How unresolved objects are resolved together. */
export type RecoverClass = "read" | "identity" | "absent";

/** Unresolved objects by what can be done about them. */
export interface UnresolvedClasses {
  /** An update or a delete: the object is recorded and can be read. */
  readonly read: readonly StateObject[];
  /** A create whose identity follows from the configuration. */
  readonly identity: readonly StateObject[];
  /** A create whose identity the provider makes. */
  readonly unknown: readonly StateObject[];
}

export function classesOf(objects: readonly StateObject[]): UnresolvedClasses {
  const classOf = ({ operation }: StateObject): keyof UnresolvedClasses => {
    if (operation?.kind !== "create") return "read";
    const { importId, identity } = operation.probe ?? {};
    return importId === undefined && identity === undefined ? "unknown" : "identity";
  };
  const members = (name: keyof UnresolvedClasses) => objects.filter((one) => classOf(one) === name);
  return { read: members("read"), identity: members("identity"), unknown: members("unknown") };
}

/** How a part of a component is named with its id. */
const PART = /^[^=]+::[^=]+=/;

/** Reads `ADDRESS=ID`; the first `=` outside of an instance key ends the address. Empty lines and comments (`#`) are left out. */
export function readIds(lines: readonly string[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const line of lines) {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) continue;
    const match = /^((?:[^=["]|\["(?:[^"\\]|\\.)*"\]|\[\d+\])+)=(.+)$/s.exec(text);
    const [, address = "", id = ""] = match ?? [];
    if (match === null) {
      throw new CommandError(`"${text}" is not of the form ADDRESS=ID.`, {
        advice: `Write for example: aws_instance.web["a"]=i-0123456789`,
      });
    }
    const [at, given] = [address.trim(), id.trim()];
    const before = ids.get(at);
    if (before !== undefined && !(PART.test(before) && PART.test(given))) {
      throw new CommandError(`There are two ids for ${at}.`, {
        advice: "Several are for the parts of a component alone, each as ADDRESS=TYPE::NAME=ID.",
      });
    }
    ids.set(at, before === undefined ? given : `${before}\n${given}`);
  }
  return ids;
}
