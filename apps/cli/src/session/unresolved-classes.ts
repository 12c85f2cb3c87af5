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
    ids.set(address.trim(), id.trim());
  }
  return ids;
}
