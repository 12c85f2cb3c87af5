import { forEachLimited } from "@stackwright/base/limiter";
import { Type } from "@stackwright/cty";
import {
  createFunctionTable,
  type Diagnostic,
  evaluateSettled,
  expandRepetition,
  type FunctionTable,
  type GraphNode,
  type ModuleNode,
  type ProviderFunctionTable,
  STANDARD_FUNCTIONS,
  sortDiagnostics,
  validateImports,
  withProviderFunctions,
} from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { ProviderCatalog } from "../providers/catalog.ts";
import { providerFunctions } from "../providers/provider-functions.ts";
import { ProviderInstances } from "../providers/provider-instances.ts";
import { blockType } from "../walk/block-type.ts";
import { conditionErrors } from "./condition-errors.ts";
import { OpenModule } from "./open-module.ts";
import { checkProvider, checkResource } from "./validate-block.ts";
import { type SkippedProvider, ValidationProviders } from "./validation-providers.ts";

export interface ValidateRequest {
  readonly configuration: Configuration;
  readonly catalog: ProviderCatalog;
  readonly sessionId: string;
  /** Calls to providers at the same time. @default 10 */
  readonly parallelism?: number;
  readonly signal?: AbortSignal;
}

export interface ValidationResult {
  /** Everything that is wrong, in the order of the files. */
  readonly diagnostics: readonly Diagnostic[];
  /** Providers that are not there, with what was not checked because of that. */
  readonly unchecked: readonly SkippedProvider[];
}

/**
 * Checks a configuration without values, state or real objects: arguments against the schemas of providers, types of
 * expressions, and the providers' own validation. Values that are only known later are unknown of their types, each
 * resource and module represents all its instances, and only conditions of variables are evaluated.
 *
 * Providers are started and not configured. What is wrong is a diagnostic; rejects with the reason of the signal, or where a provider
 * dies.
 */
export async function validateConfiguration(request: ValidateRequest): Promise<ValidationResult> {
  const { configuration, catalog, sessionId, signal } = request;
  if (!configuration.isSound) {
    return { diagnostics: configuration.diagnostics, unchecked: [] };
  }
  await using running = new ProviderInstances({ catalog, sessionId, ...(signal && { signal }) });
  const { resolution, root, graph } = configuration;
  const providers = await ValidationProviders.start(resolution, catalog, running, signal);
  const functions = await FunctionTables.create(configuration, running, providers.versions);
  const tree = new OpenModule(root, {
    functionsOf: (module) => functions.of(module),
    typeOf: (module, config) => {
      const use = providers.ofResource(module, config);
      const schema = use?.typeSchema(config.mode, config.type);
      return schema === undefined ? Type.dynamic : blockType(schema.block);
    },
  });
  const check = new ConfigurationCheck(tree, providers, functions, signal);
  await forEachLimited(graph.order, request.parallelism ?? 10, async (node) => check.node(node));
  await check.imports();
  signal?.throwIfAborted();
  const known = configuration.diagnostics.filter(({ severity }) => severity === "error");
  // An expression that the text alone shows to be wrong cannot be evaluated either.
  const found = check.diagnostics.filter((one) => !overlaps(one, known));
  const texts = configuration.diagnostics.filter(
    (one) => one.severity === "error" || !overlaps(one, found.filter(isError)),
  );
  return {
    diagnostics: sortDiagnostics(withoutRepeats([...texts, ...found])),
    unchecked: providers.unchecked,
  };
}

/** A module that is called several times has a warning at each of its calls, and all are about one place. */
function withoutRepeats(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>();
  return diagnostics.filter(({ severity, summary, detail, subject, address }) => {
    if (severity === "error") return true;
    const place = subject && [
      subject.source.file.name,
      subject.source.fileOffset(subject.start),
      subject.source.fileOffset(subject.end),
    ];
    const key = JSON.stringify([summary, detail, place ?? address]);
    return seen.size < seen.add(key).size;
  });
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

/** Whether a diagnostic is about a place that others are about. */
function overlaps({ subject }: Diagnostic, others: readonly Diagnostic[]): boolean {
  if (subject === undefined) return false;
  return others.some(
    (other) =>
      other.subject?.source === subject.source &&
      other.subject.start < subject.end &&
      subject.start < other.subject.end,
  );
}

/** Functions of modules, those of providers among them. */
class FunctionTables {
  readonly #source: Awaited<ReturnType<typeof providerFunctions>>;
  readonly #tables = new Map<ModuleNode, FunctionTable>();
  readonly #waiting = new Set<ProviderFunctionTable>();

  private constructor(source: Awaited<ReturnType<typeof providerFunctions>>) {
    this.#source = source;
  }

  static async create(
    configuration: Configuration,
    providers: ProviderInstances,
    versions: ReadonlyMap<string, string>,
  ): Promise<FunctionTables> {
    return new FunctionTables(await providerFunctions(configuration, providers, versions));
  }

  of(module: ModuleNode): FunctionTable {
    const known = this.#tables.get(module);
    if (known !== undefined) return known;
    const host = { maxStringLength: 32 * 1024 * 1024, files: module.files };
    const base = createFunctionTable(STANDARD_FUNCTIONS, host);
    const source = this.#source?.(module);
    const table = source === undefined ? base : withProviderFunctions(base, source);
    if (table !== base) this.#waiting.add(table as ProviderFunctionTable);
    this.#tables.set(module, table);
    return table;
  }

  /** Evaluates until no call of a provider's function is open. */
  async settled<T>(run: () => T): Promise<T> {
    const tables = [...this.#waiting];
    return evaluateSettled(
      {
        pending: () => tables.reduce((sum, table) => sum + table.pending(), 0),
        settle: async () => void (await Promise.all(tables.map(async (table) => table.settle()))),
      },
      run,
    );
  }
}

class ConfigurationCheck {
  readonly diagnostics: Diagnostic[] = [];
  readonly #root: OpenModule;
  readonly #providers: ValidationProviders;
  readonly #functions: FunctionTables;
  readonly #signal: AbortSignal | undefined;

  constructor(
    root: OpenModule,
    providers: ValidationProviders,
    functions: FunctionTables,
    signal: AbortSignal | undefined,
  ) {
    this.#root = root;
    this.#providers = providers;
    this.#functions = functions;
    this.#signal = signal;
  }

  async node(node: GraphNode): Promise<void> {
    const module = this.#root.at(node.module.path);
    if (module === undefined) return;
    const found = await this.#check(node, module);
    this.diagnostics.push(...found);
  }

  async imports(): Promise<void> {
    const { node, scope } = this.#root;
    const found = await this.#functions.settled(() => validateImports(node, scope));
    this.diagnostics.push(...found);
  }

  async #check(node: GraphNode, module: OpenModule): Promise<readonly Diagnostic[]> {
    const evaluated = async (run: () => readonly Diagnostic[]): Promise<readonly Diagnostic[]> =>
      this.#functions.settled(run);
    const shared = {
      module,
      providers: this.#providers,
      context: { ...(this.#signal && { signal: this.#signal }) },
      settled: async <T>(run: () => T): Promise<T> => this.#functions.settled(run),
    };
    switch (node.kind) {
      case "variable":
        return evaluated(() => module.variable(node.variable.name).diagnostics);
      case "validation":
        return evaluated(() =>
          conditionErrors(node.variable.validations, module.validationScope(node.variable.name), {
            decided: true,
          }),
        );
      case "local":
        return evaluated(() => module.scope.local(node.local.name).diagnostics);
      case "output":
        return evaluated(() => module.output(node.output.name).diagnostics);
      case "module":
        return evaluated(() => {
          const diagnostics: Diagnostic[] = [];
          expandRepetition(node.call, module.scope.forInstance({}), diagnostics);
          return diagnostics;
        });
      case "check":
        return evaluated(() =>
          conditionErrors(node.check.assertions, module.scope, { decided: false }),
        );
      case "provider":
        return checkProvider({ ...shared, provider: node.provider });
      case "resource":
        return checkResource({ ...shared, config: node.resource, id: node.id });
      case "module-outputs":
      case "module-end":
        return [];
      default:
        return node satisfies never;
    }
  }
}
