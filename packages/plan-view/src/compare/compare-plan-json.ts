interface ChangeJson {
  readonly actions: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
}

export interface ComparedPlanJson {
  readonly terraform_version?: string;
  readonly resource_changes?: readonly {
    readonly address: string;
    readonly deposed?: string;
    readonly mode: string;
    readonly action_reason?: string;
    readonly change: ChangeJson;
  }[];
  readonly output_changes?: Readonly<Record<string, ChangeJson>>;
}

/** One difference of two plans. */
export interface PlanDifference {
  /** Address of an object, or `output.NAME`. */
  readonly address: string;
  /** Member of its change, such as `actions` or `after.tags.Name`. */
  readonly path: string;
  /** JSON texts; undefined: absent. Values are shown only where they are not sensitive. */
  readonly ours: string | undefined;
  readonly theirs: string | undefined;
}

/** What a comparison of two plans found. */
export interface ComparedPlans {
  /** Objects and outputs that were compared. */
  readonly compared: number;
  readonly differences: readonly PlanDifference[];
}

/** Compares two plans: what happens to each object and output, and the values after it. */
export function comparePlanJson(ours: ComparedPlanJson, theirs: ComparedPlanJson): ComparedPlans {
  const pairs = [
    ...pairsOf(changesOf(ours), changesOf(theirs)),
    ...pairsOf(outputsOf(ours), outputsOf(theirs)),
  ];
  return {
    compared: pairs.length,
    differences: pairs.flatMap(({ address, ours: mine, theirs: other }) =>
      differencesOf(address, mine, other),
    ),
  };
}

function changesOf({ resource_changes: changes = [] }: ComparedPlanJson): Map<string, ChangeJson> {
  return new Map(
    changes
      // Reads that neither side plans for are in neither form of the plan. What is read for a check once more changes nothing: where that
      // is all, the reference command plans it, and ours does not.
      .filter(
        ({ mode, action_reason: reason, change }) =>
          mode === "managed" ||
          (change.actions.join() !== "no-op" && reason !== "read_because_check_nested"),
      )
      .map(({ address, deposed, change }) => [
        deposed === undefined ? address : `${address} (${deposed})`,
        change,
      ]),
  );
}

function outputsOf({ output_changes: outputs = {} }: ComparedPlanJson): Map<string, ChangeJson> {
  return new Map(Object.entries(outputs).map(([name, change]) => [`output.${name}`, change]));
}

interface ChangePair {
  readonly address: string;
  readonly ours: ChangeJson | undefined;
  readonly theirs: ChangeJson | undefined;
}

function pairsOf(
  ours: ReadonlyMap<string, ChangeJson>,
  theirs: ReadonlyMap<string, ChangeJson>,
): ChangePair[] {
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .sort()
    .map((address) => ({ address, ours: ours.get(address), theirs: theirs.get(address) }));
}

const MEMBERS = ["actions", "after", "after_unknown", "after_sensitive"] as const;

/** The members of a change that differ. */
function differencesOf(
  address: string,
  ours: ChangeJson | undefined,
  theirs: ChangeJson | undefined,
): PlanDifference[] {
  if (ours === undefined || theirs === undefined) {
    const text = (change: ChangeJson | undefined): string | undefined =>
      change && JSON.stringify(change.actions);
    // An object without a change that only one side lists is not a difference.
    const only = ours ?? theirs;
    if (only?.actions.join() === "no-op") return [];
    return [{ address, path: "actions", ours: text(ours), theirs: text(theirs) }];
  }
  return MEMBERS.flatMap((member) => {
    const hidden = member === "after" ? [ours.after_sensitive, theirs.after_sensitive] : [];
    return leaves(ours[member], theirs[member], member, hidden).map((found) => ({
      address,
      ...found,
    }));
  });
}

function leaves(
  ours: unknown,
  theirs: unknown,
  path: string,
  hidden: readonly unknown[],
): Omit<PlanDifference, "address">[] {
  if (Object.is(ours, theirs) || (isBlank(ours) && isBlank(theirs))) return [];
  if (isObject(ours) && isObject(theirs)) {
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].sort().flatMap((name) =>
      leaves(
        member(ours, name),
        member(theirs, name),
        `${path}.${name}`,
        hidden.map((mask) => (isObject(mask) ? member(mask, name) : mask)),
      ),
    );
  }
  const secret = hidden.some((mask) => mask === true);
  const text = (value: unknown): string | undefined =>
    value === undefined ? undefined : secret ? "(sensitive value)" : JSON.stringify(value);
  return JSON.stringify(ours) === JSON.stringify(theirs)
    ? []
    : [{ path, ours: text(ours), theirs: text(theirs) }];
}

/** Masks say the same by an empty object, by false and by being absent. */
function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return isObject(value) && Object.values(value).every(isBlank);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function member(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}
