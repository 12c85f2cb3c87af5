import {
  byIndex,
  byKey,
  byKeys,
  type Collection,
  kind,
  type OutputOf,
  type Scope,
} from "@stackwright/krt";

/** What is known of a stack without its state: which outputs of others it was made with. */
export interface Stack {
  readonly name: string;
  /** Goes up with every deployment. */
  readonly deployment: number;
  /** The inputs of the last deployment: outputs of other stacks, with the fingerprint each had. */
  readonly inputs: readonly StackInput[];
}

interface StackInput {
  readonly stack: string;
  readonly output: string;
  readonly fingerprint: string;
}

/** One published output of a stack. The value itself is not here, since it may be secret. */
export interface Output {
  readonly stack: string;
  readonly name: string;
  readonly fingerprint: string;
}

/** Why a stack should be deployed again. */
interface Reason {
  readonly type: "changed" | "missing" | "upstream";
  /** The output, or for `upstream` the stack, that is the reason. */
  readonly what: string;
}

interface Staleness {
  readonly stack: string;
  readonly deployment: number;
  readonly stale: boolean;
  readonly reasons: readonly Reason[];
}

export const STACK = kind<Stack>()({ label: "stack", key: (stack) => stack.name });
export const OUTPUT = kind<Output>()({
  label: "output",
  key: (output) => outputKey(output.stack, output.name),
});
const STALENESS = kind<Staleness>()({ label: "staleness", key: (one) => one.stack });

export function outputKey(stack: string, output: string): string {
  return `${stack}.${output}`;
}

/**
 * Which stacks are stale by themselves: an input changed or vanished since they were deployed. A stack fetches exactly
 * the outputs it uses, so that the change of one touches its users only.
 */
export function directStaleness(
  scope: Scope,
  stacks: Collection<Stack>,
  outputs: Collection<Output>,
): Collection<Staleness> {
  return scope.derive(
    stacks,
    (ctx, { name, deployment, inputs }): Staleness => {
      const keys = inputs.map(({ stack, output }) => outputKey(stack, output));
      const found = new Map<string, Output>();
      for (const one of ctx.fetch(outputs, byKeys(keys))) found.set(OUTPUT.key(one), one);
      const reasons = inputs.flatMap(({ stack, output, fingerprint }): Reason[] => {
        const what = outputKey(stack, output);
        const now = found.get(what);
        if (now === undefined) return [{ type: "missing", what }];
        return now.fingerprint === fingerprint ? [] : [{ type: "changed", what }];
      });
      return { stack: name, deployment, stale: reasons.length > 0, reasons };
    },
    { kind: STALENESS, name: "direct" },
  );
}

/**
 * Which stacks are stale by themselves or because a stack is that they depend on, directly or through others: what is known of a stack
 * follows from what is known of those whose outputs it uses. A change touches the stacks that depend on it, and goes no further
 * than it makes a difference. Stacks that use each other in a circle have no staleness, and are reported.
 */
export function transitiveStaleness(
  scope: Scope,
  stacks: Collection<Stack>,
  direct: Collection<Staleness>,
): Collection<Staleness> {
  return scope.deriveRecursive(
    direct,
    (ctx, own, stalenessOf: OutputOf<Staleness>): Staleness => {
      const inputs = ctx.fetchOne(stacks, byKey(own.stack))?.inputs ?? [];
      const upstream = new Set<string>();
      for (const { stack } of inputs) {
        const { reasons = [] } = stalenessOf(stack) ?? {};
        if (reasons.some(({ type }) => type !== "upstream")) upstream.add(stack);
        for (const { type, what } of reasons) if (type === "upstream") upstream.add(what);
      }
      const reasons = [...own.reasons, ...Array.from(upstream, (what) => upstreamReason(what))];
      return { ...own, stale: reasons.length > 0, reasons };
    },
    { kind: STALENESS, name: "staleness" },
  );
}

function upstreamReason(what: string): Reason {
  return { type: "upstream", what };
}

/** The stacks that use an output of each stack, so that "who is hit by this?" is one look-up. */
function usersByStack(scope: Scope, stacks: Collection<Stack>) {
  return scope.index(stacks, (stack) => [...new Set(stack.inputs.map((input) => input.stack))]);
}

/** How many stacks each stack has as direct users. */
export function fanOut(scope: Scope, stacks: Collection<Stack>) {
  const users = usersByStack(scope, stacks);
  return scope.derive(stacks, (ctx, { name }) => ({
    key: name,
    users: ctx.fetch(stacks, byIndex(users, name)).length,
  }));
}
