/** The properties of a method that the bridge knows. */
export interface MethodFacts {
  /** Name in its service, as `PluginTransport` takes it. */
  readonly name: string;
  /** The value of `method_name`. */
  readonly path: string;
  /** Needs a configured provider, so `config_data` goes along. */
  readonly configured: boolean;
  /** Asynchronous in the second version of the contract. */
  readonly asynchronous: boolean;
  /** May be repeated after a failure with an unknown outcome: it reads, or is pure. */
  readonly repeatable: boolean;
  /** Number of the field of its response that holds diagnostics. */
  readonly diagnosticsField?: number;
}

const service = "/tfplugin5.Provider/";

function fact(
  name: string,
  facts: Partial<Omit<MethodFacts, "name">> & { readonly path?: string } = {},
): MethodFacts {
  return {
    path: `${service}${name}`,
    configured: false,
    asynchronous: false,
    repeatable: true,
    ...facts,
    name,
  };
}

/**
 * The 13 methods that the contract carries, and no others.
 *
 * Source: seed 003 (rules for HTTP functions) for the names; Terraform plugin protocol 5 for the
 * fields; the second version of the contract for which are asynchronous. `config_data` goes to the
 * methods that work on real objects: validation and upgrade have to cope without a configuration.
 */
export const METHODS: readonly MethodFacts[] = Object.freeze([
  fact("GetSchema", { diagnosticsField: 4 }),
  fact("PrepareProviderConfig", { diagnosticsField: 2 }),
  fact("ValidateResourceTypeConfig", { diagnosticsField: 1 }),
  fact("ValidateDataSourceConfig", { diagnosticsField: 1 }),
  fact("UpgradeResourceState", { diagnosticsField: 2 }),
  fact("Configure", { diagnosticsField: 1 }),
  fact("ReadResource", { configured: true, diagnosticsField: 2 }),
  fact("PlanResourceChange", { configured: true, asynchronous: true, diagnosticsField: 4 }),
  fact("ApplyResourceChange", {
    configured: true,
    asynchronous: true,
    repeatable: false,
    diagnosticsField: 3,
  }),
  fact("ImportResourceState", { configured: true, diagnosticsField: 2 }),
  fact("ReadDataSource", { configured: true, diagnosticsField: 2 }),
  fact("Stop", { asynchronous: true }),
  fact("Shutdown", { path: "/plugin.GRPCController/Shutdown", asynchronous: true }),
]);

const byPath: ReadonlyMap<string, MethodFacts> = new Map(METHODS.map((m) => [m.path, m]));
const byName: ReadonlyMap<string, MethodFacts> = new Map(METHODS.map((m) => [m.name, m]));

/** The method with this `method_name`, compared exactly. */
export function methodByPath(path: string): MethodFacts | undefined {
  return byPath.get(path);
}

/** The method with this name in its service. */
export function methodByName(name: string): MethodFacts | undefined {
  return byName.get(name);
}

/**
 * `method_name` of a question to the function's journal: what became of the apply with this
 * `context.call_id`? An extension. A function that does not know it refuses it like any unknown
 * method, without an effect.
 */
export const OUTCOME_METHOD = "/stackwright.Journal/Outcome";
