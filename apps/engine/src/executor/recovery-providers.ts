import { type Configuration, isPlaceholder, type StateObject } from "@stackwright/core";
import { bodyReferences } from "@stackwright/lang";
import type { LockFile } from "@stackwright/provider-source";
import type { ProviderVersion } from "../domain/registry-query.ts";

/** What the configuration of a provider may name without any object being read: the values of root variables, and where it is. */
const FIXED: ReadonlySet<string> = new Set(["var", "path", "terraform", "each"]);

/**
 * The sources of the providers that the recovery of an interrupted apply has to ask: those of objects with a call whose answer was not
 * recorded. Where the configuration of one of them may be made of values of other objects, all that the state has are needed, as each
 * reads its own.
 */
export function recoveryProviders(
  objects: ReadonlyMap<string, StateObject>,
  { root, resolution }: Pick<Configuration, "root" | "resolution">,
): ReadonlySet<string> {
  const asked = sourcesOf([...objects.values()].filter(isOpen));
  const configurations = [...resolution.configurations.values()];
  const dependsOnObjects = configurations.some(
    ({ source, config, module }) =>
      config !== undefined &&
      asked.has(source.toString()) &&
      // Variables of other modules have values of any kind.
      bodyReferences(config.body).some((one) => !FIXED.has(one.root) || module !== root),
  );
  return dependsOnObjects
    ? new Set([...sourcesOf(objects.values()), ...resolution.requirements.keys()])
    : asked;
}

/** The versions of some providers that a recovery is going to use: those that are locked, or else that wrote the objects. */
export function recoveryVersions(
  sources: ReadonlySet<string>,
  objects: ReadonlyMap<string, StateObject>,
  lock: LockFile,
): readonly ProviderVersion[] {
  const recorded = new Map(
    Array.from(objects.values(), ({ provider }) => [provider.source, provider.version]),
  );
  return [...sources].flatMap((source) => {
    const version = lock.providers.get(source)?.version.toString() ?? recorded.get(source) ?? "";
    return version === "" ? [] : [{ source, version }];
  });
}

/** Whether a call may have been made for the object whose answer was not recorded. */
function isOpen(object: StateObject): boolean {
  const { phase } = object;
  if (phase === "creating") return !isPlaceholder(object);
  return phase === "updating" || phase === "deleting";
}

function sourcesOf(objects: Iterable<StateObject>): ReadonlySet<string> {
  return new Set(Array.from(objects, ({ provider }) => provider.source));
}
