import type { Value } from "@stackwright/cty";
import { blankSecrets, Concealer, revealSecrets } from "../secrets/concealer.ts";
import type { ResourceChange } from "./change.ts";
import { pathOutsideSecrets } from "./path-outside-secrets.ts";
import type { Plan } from "./plan.ts";

/** Whether a renderer hides secrets and everything that repeats one, or was requested to show them by a flag. */
export type SecretDisplay = "hidden" | "shown";

interface Sides {
  readonly before?: Value;
  readonly after?: Value;
}

/**
 * A plan in which everything that repeats a sensitive part of an object, a variable or an output is marked like it. No path leads
 * into a sensitive part, and no summary of a provisioner holds a secret.
 *
 * @param secrets further secret texts, which no value of the plan holds with a mark: those of the environment of the providers
 */
export function concealPlan(plan: Plan, secrets: readonly string[] = []): Plan {
  const concealer = new Concealer().learnTexts(secrets).learn(...plan.variables.values());
  for (const { before, after } of [...plan.changes, ...plan.drift]) concealer.learn(before, after);
  // A sensitive output may be a whole module: only of texts and numbers it follows that they are secrets elsewhere.
  for (const { before, after } of plan.outputs) {
    concealer.learn(...[before, after].filter((value) => value !== undefined && isLeaf(value)));
  }
  const concealed = mapPlanValues(plan, (...values) => concealer.conceal(...values));
  return {
    ...concealed,
    changes: concealed.changes.map((change) => concealTexts(change, concealer)),
    checks: plan.checks.map((check) =>
      check.message === undefined ? check : { ...check, message: concealer.text(check.message) },
    ),
  };
}

/** What a change says besides its values, which are concealed already. */
function concealTexts(change: ResourceChange, concealer: Concealer): ResourceChange {
  const { importing, provisioners, before, after } = change;
  return {
    ...change,
    replacePaths: change.replacePaths.map((path) => pathOutsideSecrets(path, before, after)),
    causes: change.causes.map((cause) => ({
      ...cause,
      path: pathOutsideSecrets(cause.path, before, after),
    })),
    ...(importing !== undefined && {
      importing: { ...importing, id: concealer.text(importing.id) },
    }),
    ...(provisioners !== undefined && {
      provisioners: provisioners.map(({ summary, ...provisioner }) => {
        const isShown =
          summary !== undefined &&
          !concealer.hasSecret(summary.replace(/\.\.\.$/, ""), before, after);
        return { ...provisioner, ...(isShown && { summary }) };
      }),
    }),
  };
}

/**
 * {@link concealPlan} with null, still marked, for every secret: for forms that write values regardless of their marks.
 */
export function blankPlan(plan: Plan, secrets?: readonly string[]): Plan {
  return mapPlanValues(concealPlan(plan, secrets), each(blankSecrets));
}

/** A plan in which no value is hidden. */
export function revealPlan(plan: Plan): Plan {
  return mapPlanValues(plan, each(revealSecrets));
}

type MapValues = <T extends readonly (Value | undefined)[]>(...versions: T) => T;

function each(map: (value: Value) => Value): MapValues {
  return <T extends readonly (Value | undefined)[]>(...versions: T) =>
    versions.map((value) => value && map(value)) as readonly unknown[] as T;
}

/** The plan with other values: versions of one object are given together. */
function mapPlanValues(plan: Plan, map: MapValues): Plan {
  const sides = <T extends Sides>(given: T): T => {
    const [before, after] = map(given.before, given.after);
    return {
      ...given,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    };
  };
  return {
    ...plan,
    variables: new Map([...plan.variables].map(([name, value]) => [name, map(value)[0]])),
    changes: plan.changes.map(sides),
    drift: plan.drift.map(sides),
    outputs: plan.outputs.map(sides),
  };
}

function isLeaf({ type }: Value): boolean {
  return type.kind === "string" || type.kind === "number";
}
