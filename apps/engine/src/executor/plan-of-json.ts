import type { Plan } from "@stackwright/core";
import { decodeJsonImplied, Mark, Path, Type, Value } from "@stackwright/cty";

// A plan of another tool in its documented JSON form, as the plan that views, documents and approvals are made of. What it does not
// say is left out: nothing of it is executed, as the saved plan of the tool is.

/** The members that are read of a plan in JSON. */
interface PlanJson {
  readonly resource_changes?: readonly ChangeJson[];
  readonly resource_drift?: readonly ChangeJson[];
  readonly output_changes?: Readonly<Record<string, SidesJson>>;
  readonly checks?: readonly CheckJson[];
  readonly configuration?: { readonly root_module?: ModuleJson };
  readonly prior_state?: { readonly values?: { readonly root_module?: ValuesJson } };
  readonly complete?: boolean;
}

interface SidesJson {
  readonly actions: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
  readonly replace_paths?: readonly (readonly (string | number)[])[];
  readonly importing?: { readonly id?: string };
}

interface ChangeJson {
  readonly address: string;
  readonly previous_address?: string;
  readonly module_address?: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly name: string;
  readonly index?: string | number;
  readonly deposed?: string;
  readonly provider_name?: string;
  readonly action_reason?: string;
  readonly change: SidesJson;
}

interface CheckJson {
  readonly address: { readonly to_display: string; readonly kind: string };
  readonly status: string;
  readonly instances?: readonly {
    readonly address: { readonly to_display: string };
    readonly status: string;
    readonly problems?: readonly { readonly message: string }[];
  }[];
}

interface ModuleJson {
  readonly resources?: readonly {
    readonly address: string;
    readonly provisioners?: readonly unknown[];
  }[];
  readonly module_calls?: Readonly<Record<string, { readonly module?: ModuleJson }>>;
}

interface ValuesJson {
  readonly resources?: readonly {
    readonly sensitive_values?: unknown;
    readonly values?: unknown;
  }[];
  readonly child_modules?: readonly ValuesJson[];
}

/** What a plan in JSON does not say of itself. */
interface PlanFacts
  extends Pick<Plan, "stack" | "revision" | "workspace" | "mode" | "createdAtMs"> {
  readonly targets: readonly string[];
  readonly replace: readonly string[];
}

type Change = Plan["changes"][number];

const ACTIONS: Readonly<Record<string, Pick<Change, "action" | "order">>> = {
  "no-op": { action: "no-op" },
  create: { action: "create" },
  read: { action: "read" },
  update: { action: "update" },
  delete: { action: "delete" },
  forget: { action: "forget" },
  "delete,create": { action: "replace", order: "delete-first" },
  "create,delete": { action: "replace", order: "create-first" },
  "create,forget": { action: "replace", order: "create-first" },
};

/** `TypeError` for what is no such plan. */
export function planOfJson(json: PlanJson, facts: PlanFacts): Plan {
  const { targets, replace, ...given } = facts;
  return {
    ...given,
    partial: targets.length > 0 || json.complete === false,
    options: { targets, replace, excludes: [] },
    variables: new Map(),
    providers: [],
    expansions: [],
    known: new Map(),
    inputs: [],
    changes: (json.resource_changes ?? []).map(changeOf),
    outputs: Object.entries(json.output_changes ?? {}).map(([name, change]) =>
      outputOf(name, change),
    ),
    drift: (json.resource_drift ?? []).flatMap((drift) => {
      const { before, after } = sidesOf(drift.change);
      if (before === undefined) return [];
      const { address, deposed = "", type } = drift;
      const found = { address, deposed, type, provider: providerOf(drift), before, relevant: true };
      return [{ ...found, ...(after !== undefined && { after }) }];
    }),
    checks: (json.checks ?? []).flatMap(checksOf),
  };
}

function changeOf(change: ChangeJson): Change {
  const { actions, replace_paths: paths = [], importing } = change.change;
  const found = ACTIONS[actions.join()];
  if (found === undefined) throw new TypeError(`the action "${actions.join()}" is not known`);
  const key = typeof change.index === "number" ? BigInt(change.index) : change.index;
  const reason = change.action_reason?.replaceAll("_", "-") as Change["reason"];
  const { previous_address: previousAddress } = change;
  return {
    address: change.address,
    deposed: change.deposed ?? "",
    mode: change.mode,
    type: change.type,
    name: change.name,
    module: change.module_address ?? "",
    key: key as Change["key"],
    provider: providerOf(change),
    ...found,
    ...(reason !== undefined && { reason }),
    ...(previousAddress !== undefined && { previousAddress }),
    ...(importing !== undefined && { importing: { id: importing.id ?? "" } }),
    ...sidesOf(change.change),
    replacePaths: paths.map((steps) =>
      steps.reduce<Path>(
        (path, step) => (typeof step === "number" ? path.index(step) : path.attribute(step)),
        Path.root,
      ),
    ),
    causes: [],
    words: { priorPrivate: new Uint8Array(), plannedPrivate: new Uint8Array() },
    schemaVersion: 0,
    dependencies: [],
    createBeforeDestroy: found.order === "create-first",
    record: false,
    legacyTypeSystem: false,
  };
}

function providerOf({ provider_name: source = "" }: Pick<ChangeJson, "provider_name">) {
  return { source, version: "", alias: "" };
}

function outputOf(name: string, change: SidesJson): Plan["outputs"][number] {
  const action = change.actions.join() as Plan["outputs"][number]["action"];
  const sensitive = change.before_sensitive === true || change.after_sensitive === true;
  return { name, action, sensitive, ...sidesOf(change) };
}

function checksOf({ address, status, instances = [] }: CheckJson): Plan["checks"][number][] {
  const kind = address.kind as Plan["checks"][number]["kind"];
  const seen = instances.length === 0 ? [{ address, status, problems: [] }] : instances;
  return seen.flatMap(({ address: at, status: found, problems = [] }) => {
    const base = { address: at.to_display, kind, status: found as "pass" };
    if (problems.length === 0) return [{ ...base, index: 0 }];
    return problems.map(({ message }, index) => ({ ...base, index, message }));
  });
}

function sidesOf(change: SidesJson): { readonly before?: Value; readonly after?: Value } {
  const isThere = (side: unknown): boolean => side !== null && side !== undefined;
  const hasAfter = isThere(change.after) || isAnyTrue(change.after_unknown);
  return {
    ...(isThere(change.before) && {
      before: valueOf(change.before, undefined, change.before_sensitive),
    }),
    ...(hasAfter && {
      after: valueOf(change.after, change.after_unknown, change.after_sensitive),
    }),
  };
}

function isAnyTrue(mask: unknown): boolean {
  if (typeof mask !== "object" || mask === null) return mask === true;
  return Object.values(mask).some(isAnyTrue);
}

/** A value of JSON, with what its masks say of its parts. */
function valueOf(json: unknown, unknown: unknown, sensitive: unknown): Value {
  const value = plainValue(json, unknown, sensitive);
  return sensitive === true ? value.mark(Mark.sensitive) : value;
}

function plainValue(json: unknown, unknown: unknown, sensitive: unknown): Value {
  if (unknown === true) return Value.unknown(Type.dynamic);
  if (json instanceof ExactNumber) return decodeJsonImplied(json.text);
  const isNothing = json === undefined || json === null;
  if (Array.isArray(json) || (isNothing && Array.isArray(unknown))) {
    const items = Array.isArray(json) ? json : [];
    const length = Math.max(items.length, Array.isArray(unknown) ? unknown.length : 0);
    return Value.tuple(
      Array.from({ length }, (_, at) =>
        valueOf(items[at], memberOf(unknown, at), memberOf(sensitive, at)),
      ),
    );
  }
  const isObject = typeof json === "object" && json !== null;
  if (isObject || (isNothing && isAnyTrue(unknown))) {
    const names = new Set([...namesOf(json), ...namesOf(unknown)]);
    return Value.object(
      new Map(
        Array.from(names, (name) => [
          name,
          valueOf(memberOf(json, name), memberOf(unknown, name), memberOf(sensitive, name)),
        ]),
      ),
    );
  }
  if (isNothing) return Value.null(Type.dynamic);
  if (typeof json === "string") return Value.string(json);
  if (typeof json === "boolean") return Value.bool(json);
  if (typeof json === "number") return Value.number(json);
  throw new TypeError("a value of the plan is not JSON");
}

function namesOf(value: unknown): string[] {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.keys(value)
    : [];
}

function memberOf(value: unknown, name: string | number): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string | number, unknown>>)[name];
}

/** Addresses of the resources of a configuration that have provisioners. */
export function provisionedResources({ configuration }: PlanJson): readonly string[] {
  const found: string[] = [];
  const visit = (module: ModuleJson | undefined, prefix: string): void => {
    for (const { address, provisioners = [] } of module?.resources ?? []) {
      if (provisioners.length > 0) found.push(prefix + address);
    }
    for (const [name, call] of Object.entries(module?.module_calls ?? {})) {
      visit(call.module, `${prefix}module.${name}.`);
    }
  };
  visit(configuration?.root_module, "");
  return found;
}

/** Texts that are sensitive in a plan: nothing that the tool writes later may show them. */
export function secretTextsOfJson({
  resource_changes: changes = [],
  resource_drift: drift = [],
  output_changes: outputs = {},
  prior_state: prior,
}: PlanJson): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown, mask: unknown): void => {
    if (typeof value === "string" || typeof value === "number") {
      if (mask === true) found.add(String(value));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, part] of Object.entries(value)) {
        visit(part, mask === true ? true : memberOf(mask, name));
      }
    }
  };
  for (const { change } of [...changes, ...drift]) {
    visit(change.before, change.before_sensitive);
    visit(change.after, change.after_sensitive);
  }
  for (const { before, after, before_sensitive: was, after_sensitive: is } of Object.values(
    outputs,
  )) {
    visit(before, was);
    visit(after, is);
  }
  const modules = prior?.values?.root_module === undefined ? [] : [prior.values.root_module];
  for (const module of modules) {
    for (const { values, sensitive_values: mask } of module.resources ?? []) visit(values, mask);
    modules.push(...(module.child_modules ?? []));
  }
  return [...found];
}

/** A number of which JavaScript has not all digits. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `TypeError` for what is not a plan in JSON, `SyntaxError` for what is not JSON. */
export function readPlanJson(text: string): PlanJson {
  const exact = (_name: string, value: unknown, { source = "" }: { source?: string }): unknown =>
    typeof value === "number" && String(value) !== source ? new ExactNumber(source) : value;
  // The type of the reviver lacks its third argument.
  const json = JSON.parse(
    text,
    exact as (name: string, value: unknown) => unknown,
  ) as PlanJson | null;
  if (typeof json !== "object" || json === null || !("format_version" in json)) {
    throw new TypeError("it has no format_version");
  }
  const { resource_changes: changes = [] } = json;
  if (!Array.isArray(changes)) throw new TypeError("resource_changes is not a list");
  for (const one of changes as readonly Partial<ChangeJson>[]) {
    const isChange =
      typeof one?.address === "string" && Array.isArray(one.change?.actions) && !!one.type;
    if (!isChange) throw new TypeError("an entry of resource_changes is not a change");
  }
  return json;
}
