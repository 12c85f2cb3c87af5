import type { Value } from "@stackwright/cty";
import {
  type Address,
  createFunctionTable,
  createScope,
  type Diagnostic,
  type Expression,
  evaluate,
  hasErrors,
  type MockDefaults,
  type MockProvider,
  type ModulePath,
  parseAddress,
  STANDARD_FUNCTIONS,
  sourceRange,
  type TestOverride,
} from "@stackwright/lang";

/** What stands in for the answers of a provider. */
export interface Replacement {
  /** Values by the name of the attribute, an object; undefined: all are generated. */
  readonly given: Value | undefined;
  readonly duringPlan: boolean;
}

/** What replaces a module. */
interface ReplacedModule {
  /** An object; undefined: all outputs are null. */
  readonly outputs: Value | undefined;
}

interface Override extends Replacement {
  readonly kind: TestOverride["kind"];
  readonly target: Address;
}

/** A mock with its values. */
interface Mock {
  readonly defaults: ReadonlyMap<string, Replacement>;
  readonly duringPlan: boolean;
  readonly overrides: readonly Override[];
}

/** The objects, modules and providers that a run replaces. */
export class Replacements {
  readonly #overrides: readonly Override[];
  readonly #mocks: ReadonlyMap<string, Mock>;

  /**
   * @param overrides those that count more come first; of two that fit, one with more instance keys counts more
   * @param mocks by `providerKey`
   */
  constructor(overrides: readonly Override[], mocks: ReadonlyMap<string, Mock>) {
    this.#overrides = overrides.toSorted((a, b) => keysIn(b.target) - keysIn(a.target));
    this.#mocks = mocks;
  }

  /** Whether a configuration of a provider is a mock, so that the provider is not called. */
  isMocked(provider: string): boolean {
    return this.#mocks.has(provider);
  }

  /** Whether anything of a provider may be replaced. */
  get isEmpty(): boolean {
    return this.#overrides.length === 0 && this.#mocks.size === 0;
  }

  /** The override of one object; undefined where there is none. */
  override(provider: string, address: string): Replacement | undefined {
    const { value } = parseAddress(address);
    if (value?.kind !== "resource") return undefined;
    const all = [...this.#overrides, ...(this.#mocks.get(provider)?.overrides ?? [])];
    return all.find(({ target }) => target.kind === "resource" && covers(target, value));
  }

  /** What a mock answers for objects of a type. */
  default(provider: string, mode: "managed" | "data", type: string): Replacement {
    const mock = this.#mocks.get(provider);
    const found = mock?.defaults.get(`${mode} ${type}`);
    return found ?? { given: undefined, duringPlan: mock?.duringPlan ?? false };
  }

  /** The outputs that replace all instances of a module; undefined where not all of them are replaced. */
  module(path: readonly string[]): ReplacedModule | undefined {
    return this.#module(path.map((name) => ({ name, key: undefined })));
  }

  /** The outputs that replace one instance of a module; undefined where it is as it is. */
  moduleInstance(address: string): ReplacedModule | undefined {
    const { value } = parseAddress(address);
    return value?.kind === "module" ? this.#module(value.module) : undefined;
  }

  /** Whether an override names instances of a module, so that they may differ from each other. */
  namesInstances(path: readonly string[]): boolean {
    return this.#modules().some(
      ({ target }) =>
        keysIn(target) > 0 &&
        target.module.length === path.length &&
        target.module.every(({ name }, at) => name === path[at]),
    );
  }

  #modules(): readonly Override[] {
    const mocked = [...this.#mocks.values()].flatMap(({ overrides }) => overrides);
    return [...this.#overrides, ...mocked].filter(({ kind }) => kind === "module");
  }

  #module(path: ModulePath): ReplacedModule | undefined {
    const found = this.#modules().find(({ target }) => isModule(target.module, path));
    return found && { outputs: found.given };
  }

  /** Targets that are not in a configuration. */
  get targets(): readonly Pick<Override, "target" | "kind">[] {
    return this.#overrides;
  }
}

/** How many instance keys an address names. */
function keysIn(target: Address): number {
  const steps: readonly { readonly key?: unknown }[] =
    target.kind === "resource" ? [...target.module, target] : target.module;
  return steps.filter(({ key }) => key !== undefined).length;
}

/** Names a configuration of a provider: its source, and its alias where it has one. */
export function providerKey(source: string, alias = ""): string {
  return alias === "" ? source : `${source} ${alias}`;
}

function covers(
  target: Extract<Address, { kind: "resource" }>,
  address: Extract<Address, { kind: "resource" }>,
): boolean {
  return (
    target.mode === address.mode &&
    target.type === address.type &&
    target.name === address.name &&
    (target.key === undefined || target.key === address.key) &&
    isModule(target.module, address.module)
  );
}

function isModule(target: ModulePath, module: ModulePath): boolean {
  if (target.length !== module.length) return false;
  return target.every(
    ({ name, key }, at) =>
      name === module[at]?.name && (key === undefined || key === module[at]?.key),
  );
}

/** Overrides with their values. */
export function evaluateOverrides(
  overrides: readonly TestOverride[],
  duringPlan: boolean,
  diagnostics: Diagnostic[],
): Override[] {
  return overrides.map(({ kind, target, values, duringPlan: own = duringPlan, range }) => ({
    kind,
    target,
    given: constant(values, diagnostics, kind === "module" ? "outputs" : "values") ?? undefined,
    duringPlan: own,
    range,
  }));
}

/** A mock with its values. */
export function evaluateMock(
  { defaults, overrides, duringPlan }: MockProvider,
  diagnostics: Diagnostic[],
): Mock {
  const table = new Map<string, Replacement>();
  for (const { mode, type, defaults: values, duringPlan: own = duringPlan } of defaults) {
    const key = keyOf({ mode, type });
    if (table.has(key)) continue;
    table.set(key, { given: constant(values, diagnostics, "defaults"), duringPlan: own });
  }
  return {
    defaults: table,
    duringPlan,
    overrides: evaluateOverrides(overrides, duringPlan, diagnostics).toSorted(
      (a, b) => keysIn(b.target) - keysIn(a.target),
    ),
  };
}

function keyOf({ mode, type }: Pick<MockDefaults, "mode" | "type">): string {
  return `${mode} ${type}`;
}

const NO_NAMES = createScope({
  functions: createFunctionTable(STANDARD_FUNCTIONS, { maxStringLength: 1 << 20 }),
});

/** An object that refers to nothing. */
function constant(
  expression: Expression | undefined,
  diagnostics: Diagnostic[],
  name: string,
): Value | undefined {
  if (expression === undefined) return undefined;
  const { value, diagnostics: found } = evaluate(expression, NO_NAMES);
  diagnostics.push(...found);
  if (hasErrors(found)) return undefined;
  if (value.type.kind === "object" && !value.isNull) return value;
  const { source, start, end } = expression;
  diagnostics.push({
    severity: "error",
    code: "ENGINE_TEST",
    summary: `Invalid ${name} attribute`,
    detail: `The argument "${name}" must be an object of values by name.`,
    subject: sourceRange(source, start, end),
  });
  return undefined;
}
