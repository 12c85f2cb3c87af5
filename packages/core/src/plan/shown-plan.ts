import { applyPath, type Path, type Value } from "@stackwright/cty";
import {
  blankSecrets,
  Concealer,
  type IsOpen,
  leafText,
  revealSecrets,
} from "../secrets/concealer.ts";
import { standInSecrets } from "../secrets/stand-in.ts";
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
  const openOf = new Map<string, OpenPlaces>();
  const disclosed = new Set<string>();
  for (const one of [...plan.changes, ...plan.outputs]) {
    if (one.open === undefined) continue;
    const places = new OpenPlaces(one.open, one.after);
    openOf.set("address" in one ? one.address : `output.${one.name}`, places);
    for (const text of places.texts) disclosed.add(text);
  }
  const concealer = planConcealer(plan, disclosed).learnTexts(secrets);
  const isOpen = (name: string): IsOpen => openOf.get(name)?.has ?? NOTHING_OPEN;
  const concealed = mapPlanValues(plan, (name, ...values) =>
    concealer.concealUnless(isOpen(name), ...values),
  );
  return {
    ...concealed,
    changes: concealed.changes.map((change) => concealTexts(change, concealer)),
    checks: plan.checks.map((check) =>
      check.message === undefined ? check : { ...check, message: concealer.text(check.message) },
    ),
  };
}

const NOTHING_OPEN: IsOpen = () => false;

/** Open places of a change, with the texts that are there. */
class OpenPlaces {
  readonly #texts = new Map<string, string>();

  constructor(paths: readonly Path[], after: Value | undefined) {
    for (const path of paths) {
      const text = after && openText(after, path);
      if (text !== undefined) this.#texts.set(path.toString(), text);
    }
  }

  get texts(): Iterable<string> {
    return this.#texts.values();
  }

  /** Also of the former version, and of what was found to have drifted: where the same text is there. */
  readonly has: IsOpen = (path, leaf) => this.#texts.get(path.toString()) === leafText(leaf);
}

function openText(after: Value, path: Path): string | undefined {
  const leaf = applyPath(after, path);
  return leaf.isMarked || !leaf.isKnown || leaf.isNull ? undefined : leafText(leaf);
}

/** Knows the secrets of all parts of a plan. */
export function planConcealer(
  plan: Pick<Plan, "variables" | "changes" | "drift" | "outputs">,
  disclosed?: ReadonlySet<string>,
): Concealer {
  const concealer = new Concealer(disclosed && { disclosed }).learn(...plan.variables.values());
  for (const { before, after } of [...plan.changes, ...plan.drift]) concealer.learn(before, after);
  // A sensitive output may be a whole module: only of texts and numbers it follows that they are secrets elsewhere.
  for (const { before, after } of plan.outputs) {
    concealer.learn(...[before, after].filter((value) => value !== undefined && isLeaf(value)));
  }
  return concealer;
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

/** {@link blankPlan}, in which one still sees which secrets change: see {@link standInSecrets}. */
export function standInPlan(plan: Plan): Plan {
  return mapPlanValues(concealPlan(plan), (_name, ...versions) => {
    const [before, after] = versions;
    return standInSecrets(before, after) as readonly unknown[] as typeof versions;
  });
}

/** A plan in which no value is hidden. */
export function revealPlan(plan: Plan): Plan {
  return mapPlanValues(plan, each(revealSecrets));
}

/** The name is that of an object, `output.NAME` or `var.NAME`. */
type MapValues = <T extends readonly (Value | undefined)[]>(name: string, ...versions: T) => T;

function each(map: (value: Value) => Value): MapValues {
  return <T extends readonly (Value | undefined)[]>(_name: string, ...versions: T) =>
    versions.map((value) => value && map(value)) as readonly unknown[] as T;
}

/** The plan with other values: versions of one object are given together. */
function mapPlanValues(plan: Plan, map: MapValues): Plan {
  const sides = <T extends Sides>(name: string, given: T): T => {
    const [before, after] = map(name, given.before, given.after);
    return {
      ...given,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    };
  };
  return {
    ...plan,
    variables: new Map(
      [...plan.variables].map(([name, value]) => [name, map(`var.${name}`, value)[0]]),
    ),
    changes: plan.changes.map((change) => sides(change.address, change)),
    drift: plan.drift.map((drift) => sides(drift.address, drift)),
    outputs: plan.outputs.map((output) => sides(`output.${output.name}`, output)),
  };
}

function isLeaf({ type }: Value): boolean {
  return type.kind === "string" || type.kind === "number";
}
