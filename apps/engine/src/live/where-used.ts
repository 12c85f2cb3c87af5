import { Run_Mode } from "@stackwright/proto/stackwright";
import { matchesStack } from "../domain/stack-pattern.ts";
import { isSetFor } from "../domain/variable-precedence.ts";
import { dependentsOf } from "./dependents.ts";
import type { LiveView } from "./live-view.ts";
import { byAge } from "./recent-runs.ts";
import type { ResourceFact } from "./resource-facts.ts";
import { visitResources } from "./search-resources.ts";
import type { AccountSetFact, RunFact, StackFact } from "./stack-facts.ts";

/** What a stack uses. */
export interface StackUse {
  readonly stack: StackFact;
  /** Of a provider: the version that its objects were written with. Of a module: its version, or its commit. */
  readonly version?: string;
  /** Of a module: what the calls ask for, where they do. */
  readonly constraints?: string;
  /** Of a provider: objects of the stack. */
  readonly resources?: number;
  /** Of another stack: what was read of it when the state was made. */
  readonly outputs?: readonly string[];
  /** Of another stack: its outputs are others now. */
  readonly outdated?: boolean;
  /** Of another stack: a change of its outputs requests runs. */
  readonly triggered?: boolean;
  /** Absent where it uses it itself. 1: it reads or follows outputs of a stack that does. 2: of one that does so, and on. */
  readonly distance?: number;
  /** The stacks in between that it reads or follows, at most 20 of them. */
  readonly through?: readonly StackFact[];
}

/**
 * The stacks that a change of what some stacks use may concern through their outputs, the nearest first.
 *
 * @param uses those that use it themselves
 * @param except a stack that is not meant, which is the one that is used
 * @param isNamed which stacks may be named as those in between
 */
export function usesThroughOthers(
  live: LiveView,
  uses: readonly StackUse[],
  except: StackFact | undefined,
  isNamed: (stack: StackFact) => boolean,
): readonly StackUse[] {
  const origins = new Map(uses.map(({ stack }) => [stack.key, stack]));
  return dependentsOf(live, [...origins.keys()], undefined, isNamed)
    .filter(({ stack }) => stack.key !== except?.key)
    .map(({ stack, distance, triggered, through, from }) => ({
      stack,
      distance,
      triggered,
      through: distance === 1 ? from.flatMap((key) => origins.get(key) ?? []) : through,
    }));
}

/**
 * The stacks with objects of a provider, by the versions that wrote them. The provider is named by its full source address, or by the
 * end of it, such as `hashicorp/random`.
 */
export async function usesOfProvider(
  live: LiveView,
  {
    stacks,
    name,
    version,
    signal,
  }: {
    readonly stacks: readonly StackFact[];
    readonly name: string;
    readonly version: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<readonly StackUse[]> {
  const uses: StackUse[] = [];
  const isIt = ({ provider, providerVersion }: ResourceFact): boolean =>
    (provider === name || provider.endsWith(`/${name}`)) &&
    (version === undefined || providerVersion === version);
  await visitResources(live, { stacks, signal }, (stack, resources) => {
    const counts = new Map<string, number>();
    for (const one of resources) {
      if (!isIt(one)) continue;
      counts.set(one.providerVersion, (counts.get(one.providerVersion) ?? 0) + 1);
    }
    for (const [used, count] of counts) uses.push({ stack, version: used, resources: count });
    return true;
  });
  return uses;
}

/**
 * The stacks whose state was made with a module, by its versions: what the plan fetched that was applied last. The module is named by
 * the address of its package, or by the end of it, such as `acme/net/aws`.
 */
export function usesOfModule(
  live: LiveView,
  stacks: readonly StackFact[],
  { name, version }: { readonly name: string; readonly version: string | undefined },
): readonly StackUse[] {
  return stacks.flatMap((stack): readonly StackUse[] => {
    const run = lastApplied(live.runsOfStack.get(stack.key)?.objects ?? []);
    if (run === undefined || run.mode === Run_Mode.MODE_DESTROY) return [];
    return (live.modules.get(run.key)?.modules ?? [])
      .filter(({ address }) => address === name || address.endsWith(`/${name}`))
      .filter((one) => version === undefined || one.version === version)
      .map(({ version: used, constraints }) => ({
        stack,
        ...(used !== "" && { version: used }),
        ...(constraints !== "" && { constraints }),
      }));
  });
}

/** The run that made the state what it is. */
function lastApplied(runs: readonly RunFact[]): RunFact | undefined {
  return runs
    .filter(({ phase }) => phase === "applied" || phase === "no_changes")
    .filter(({ mode }) => mode === Run_Mode.MODE_APPLY || mode === Run_Mode.MODE_DESTROY)
    .toSorted(byAge)[0];
}

/** The stacks that were made with outputs of a stack, and those whose runs it triggers. */
export function usesOfStack(
  live: LiveView,
  stacks: readonly StackFact[],
  producer: StackFact,
): readonly StackUse[] {
  const revision = live.outputs.get(producer.key)?.revision;
  const triggered = new Set(live.followersOf.lookup(producer.key).map(({ consumer }) => consumer));
  return stacks.flatMap((stack): readonly StackUse[] => {
    const input = live.outputs.get(stack.key)?.inputs.find(({ key }) => key === producer.key);
    const isTriggered = triggered.has(stack.key);
    if (input === undefined && !isTriggered) return [];
    const outdated = input !== undefined && revision !== undefined && revision > input.revision;
    return [{ stack, outputs: input?.outputs ?? [], outdated, triggered: isTriggered }];
  });
}

/** The stacks that get the variables of a set; undefined without such a set. */
export function usesOfVariableSet(
  live: LiveView,
  stacks: readonly StackFact[],
  { account, project, name }: Pick<StackFact, "account" | "project" | "name">,
): readonly StackUse[] | undefined {
  const set = live.variableSets.get(`${account}/${project}/${name}`);
  if (set === undefined) return undefined;
  return stacks
    .filter(
      (stack) =>
        stack.project === project &&
        (set.stacks.length === 0 ||
          set.stacks.some((pattern) => matchesStack(pattern, stack.name))),
    )
    .map((stack) => ({ stack }));
}

/** The stacks that get the variables of a set of an account; undefined without a set. */
export function usesOfAccountSet(
  stacks: readonly StackFact[],
  set: AccountSetFact | undefined,
): readonly StackUse[] | undefined {
  if (set === undefined) return undefined;
  return stacks.filter((stack) => isSetFor(set, stack)).map((stack) => ({ stack }));
}
