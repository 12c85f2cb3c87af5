import { byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import { Run_Mode } from "@stackwright/proto/stackwright";
import type { ConstraintsFact } from "./provider-constraints.ts";
import type { RunFact } from "./stack-facts.ts";

/** The runs of stacks, by key of the stack. */
type RunsOfStacks = Collection<{ readonly key: string; readonly objects: readonly RunFact[] }>;

/** How runs end that leave a stack as their configuration says. */
const LEFT_AS_SAID: ReadonlySet<RunFact["phase"]> = new Set([
  "applied",
  "partially_applied",
  "no_changes",
]);

/**
 * The constraints that hold: those of stacks whose state is as a run of a server left it. A command that wrote it since then had a configuration that no
 * server has seen.
 */
export function deriveKnownConstraints(
  rt: Runtime,
  {
    recorded,
    runsOfStack,
  }: { readonly recorded: Collection<ConstraintsFact>; readonly runsOfStack: RunsOfStacks },
): Collection<ConstraintsFact> {
  return rt.derive(
    recorded,
    (ctx, fact) => {
      const runs = ctx.fetchOne(runsOfStack, byKey(fact.key))?.objects ?? [];
      return isOfServer(runs) ? fact : undefined;
    },
    {
      name: "known constraints of providers",
      kind: kind<ConstraintsFact>()({ key: ({ key }) => key }),
    },
  );
}

/** Whether no command has written the state after the last run of a server that left it as its configuration says. */
function isOfServer(runs: readonly RunFact[]): boolean {
  const byCommand = newest(runs.filter(({ number }) => number === 0));
  const byServer = newest(
    runs.filter(
      ({ number, mode, phase }) =>
        number > 0 && mode === Run_Mode.MODE_APPLY && LEFT_AS_SAID.has(phase),
    ),
  );
  return byServer >= byCommand;
}

function newest(runs: readonly RunFact[]): number {
  return runs.reduce((last, { revision }) => Math.max(last, revision), 0);
}
