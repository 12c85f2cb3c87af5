import {
  configAddress,
  formatAddress,
  formatModulePath,
  type ModulePath,
  parseAddress,
} from "@stackwright/lang";
import { resourceOf } from "../state/check-state.ts";
import type { Dependency } from "../state/state-object.ts";

/** An instance by its address, all instances of a resource by that with brackets. */
export function nameOf({ address, scope }: Pick<Dependency, "address" | "scope">): string {
  return scope === "instance" ? address : `${address}[]`;
}

/**
 * Names of all objects of a resource, in all instances of its module: one for each module on the way to it, with the keys up to that
 * module. So a name has what can be seen of the resource from inside of one instance of that module.
 */
export function objectsNames(address: string): readonly string[] {
  if (!isInModule(address)) return [` ${resourceOf(address)}`];
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return [resourceOf(address)];
  const config = formatAddress(configAddress(value));
  return Array.from(
    { length: value.module.length + 1 },
    (_, depth) => `${formatModulePath(value.module.slice(0, depth))} ${config}`,
  );
}

/** The one of these names that has what the object at `from` depends on with a dependency. */
export function neededName(from: string, { address }: Dependency): string {
  const [own, other] = [from.replace(/\[\]$/, ""), address].map(modulesOf);
  let shared = 0;
  while (
    own?.[shared] !== undefined &&
    own[shared]?.name === other?.[shared]?.name &&
    own[shared]?.key === other?.[shared]?.key
  )
    shared++;
  return objectsNames(address)[shared] ?? "";
}

function isInModule(address: string): boolean {
  return address.startsWith("module.");
}

function modulesOf(address: string): ModulePath {
  if (!isInModule(address)) return [];
  return parseAddress(address).value?.module ?? [];
}
