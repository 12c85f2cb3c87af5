import { byIndex, byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import {
  PRIVATE_HOST,
  PRIVATE_NAMESPACE,
  Version,
  VersionConstraints,
} from "@stackwright/provider-source";
import type { ProviderChange } from "./provider-changes.ts";
import type { ConstraintsFact } from "./provider-constraints.ts";
import type { ProviderReactionFact } from "./provider-reactions.ts";
import type { ResourceFact } from "./resource-facts.ts";
import type { StackFact } from "./stack-facts.ts";

/** A change of a provider that a stack may use, and that was not taken note of for the stack. */
export interface DueProviderChange {
  readonly key: string;
  readonly stack: StackFact;
  /** Source address, as the stack has it. */
  readonly source: string;
  /** Versions of it that the objects of the stack were written with. */
  readonly used: readonly string[];
  readonly change: ProviderChange;
}

interface Use {
  readonly key: string;
  readonly stack: string;
  readonly source: string;
  readonly version: string;
}

const SEPARATOR = " ";

/**
 * The changes that have to be taken note of. Of versions of one provider that were published the newest one counts alone. Whether a change is
 * one of the provider that the stack means is asked of the registries: a source of another host may end alike.
 */
export function deriveDueProviderChanges(
  rt: Runtime,
  {
    reactions,
    stacks,
    resources,
    changes,
    constraints,
  }: {
    readonly reactions: Collection<ProviderReactionFact>;
    readonly stacks: Collection<StackFact>;
    readonly resources: Collection<ResourceFact>;
    readonly changes: Collection<ProviderChange>;
    /** Of the stacks whose configuration constrains any. */
    readonly constraints: Collection<ConstraintsFact>;
  },
): Collection<DueProviderChange> {
  // Counted, so that an apply of many objects costs each of them alone.
  const counts = rt.aggregateBy(
    resources,
    {
      by: ({ stack, provider, providerVersion }) =>
        [stack, provider, providerVersion].join(SEPARATOR),
    },
    {},
    { name: "counts of provider versions" },
  );
  const uses = rt.derive(
    counts,
    (_ctx, { key }): Use => {
      const [stack = "", source = "", version = ""] = key.split(SEPARATOR);
      return { key, stack, source, version };
    },
    { name: "provider versions of stacks", kind: kind<Use>()({ key: ({ key }) => key }) },
  );
  const groups = rt
    .index(uses, ({ stack, source }) => [stack, source].join(SEPARATOR))
    .asCollection({ name: "providers of stacks" });
  // By type alone: a namespace of the server may stand for one of another name.
  const byType = rt.index(changes, ({ provider }) => typeOf(provider));
  return rt.deriveMany(
    groups,
    (ctx, { key, objects }): readonly DueProviderChange[] => {
      const [first] = objects;
      if (first === undefined) return [];
      const { stack: stackKey, source } = first;
      const reaction = ctx.fetchOne(reactions, byKey(stackKey));
      const stack = ctx.fetchOne(stacks, byKey(stackKey));
      if (reaction === undefined || stack === undefined) return [];
      const used = objects.map(({ version }) => version).toSorted();
      const known = ctx
        .fetch(changes, byIndex(byType, typeOf(source)))
        .filter((change) => mayMean(source, stack.account, change));
      const deleted = deletedOf(source, stack.account, known, used);
      const allowed = allowedOf(ctx.fetchOne(constraints, byKey(stackKey)), source);
      return [...concerning(known, used, allowed), ...deleted]
        .filter(
          ({ version, change, mark }) =>
            !reaction.notices.some(
              (one) =>
                one.provider === source &&
                one.version === version &&
                one.change === change &&
                one.mark === mark,
            ),
        )
        .map((change) => ({
          key: [key, change.key].join(SEPARATOR),
          stack,
          source,
          used,
          change,
        }));
    },
    {
      name: "due changes of providers",
      kind: kind<DueProviderChange>()({ key: ({ key }) => key }),
    },
  );
}

/** The versions of a provider that the configuration of a stack allows; all where nothing is recorded. */
function allowedOf(fact: ConstraintsFact | undefined, source: string): VersionConstraints {
  const text = fact?.constraints.find((one) => one.source === source)?.versions ?? "";
  try {
    return text === "" ? VersionConstraints.any : VersionConstraints.parse(text);
  } catch {
    return VersionConstraints.any;
  }
}

function typeOf(address: string): string {
  return address.slice(address.lastIndexOf("/") + 1);
}

/** Whether a source of a stack may be the provider of a change. */
function mayMean(
  source: string,
  account: string,
  { origin, account: owner, provider }: ProviderChange,
): boolean {
  if (origin === "upstream") return owner === account;
  return source.endsWith(`/${provider}`) && (origin === "published" || owner === account);
}

/** Those of the changes of a provider that concern who uses some versions of it. */
function concerning(
  changes: readonly ProviderChange[],
  used: readonly string[],
  allowed: VersionConstraints,
): readonly ProviderChange[] {
  const ofUsed = changes.filter((one) => one.change !== "published" && used.includes(one.version));
  const offered = Map.groupBy(
    changes.filter(({ change }) => change === "published"),
    ({ origin }) => origin,
  );
  const newest = [...offered.values()].flatMap(
    (ofOrigin) => newerThan(used, ofOrigin, allowed) ?? [],
  );
  return [...ofUsed, ...newest];
}

/** The versions of a private provider that are used, and of which its registry has none: nothing is left of one that was deleted. */
function deletedOf(
  source: string,
  account: string,
  known: readonly ProviderChange[],
  used: readonly string[],
): readonly ProviderChange[] {
  const [, namespace = "", type = ""] = source.split("/");
  if (namespace !== PRIVATE_NAMESPACE) return [];
  const provider = `${namespace}/${type}`;
  return used
    .filter((version) => !known.some((one) => one.origin === "private" && one.version === version))
    .map((version) => ({
      key: `deleted ${account}/${provider}/${version}`,
      origin: "private",
      account,
      host: PRIVATE_HOST,
      provider,
      version,
      change: "deleted",
      mark: "",
    }));
}

/** The newest version that is allowed, if it is newer than all that are used; one before a release is for those alone who ask for it. */
function newerThan(
  used: readonly string[],
  offered: readonly ProviderChange[],
  allowed: VersionConstraints,
): ProviderChange | undefined {
  const versions = used.flatMap((text) => versionOf(text) ?? []);
  if (versions.length === 0) return undefined;
  return offered
    .flatMap((change) => {
      const version = versionOf(change.version);
      const isOffered = version !== undefined && !version.isPrerelease && allowed.allows(version);
      return isOffered ? [{ change, version }] : [];
    })
    .filter(({ version }) => versions.every((one) => Version.compare(version, one) > 0))
    .toSorted((a, b) => Version.compare(b.version, a.version))[0]?.change;
}

function versionOf(text: string): Version | undefined {
  try {
    return Version.parse(text);
  } catch {
    return undefined;
  }
}
