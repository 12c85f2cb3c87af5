import { Value } from "@stackwright/cty";
import {
  type BundleFiles,
  createFunctionTable,
  type Diagnostic,
  evaluateSettled,
  type FileReads,
  type FunctionHost,
  type FunctionTable,
  type InstanceKey,
  type ModuleNode,
  type ProviderFunctionResolver,
  type ProviderFunctionTable,
  STANDARD_FUNCTIONS,
  withProviderFunctions,
} from "@stackwright/lang";
import { EngineError } from "../errors.ts";
import { ModuleInstance } from "./module-instance.ts";
import { DependencyRecorder, type Recorded, type Target } from "./recorder.ts";
import type { ResourceValues } from "./resource-values.ts";

/** Opens the ephemeral resources that evaluations ask for: afterwards they have values. */
interface EphemeralOpener {
  open(targets: Iterable<Target>): Promise<void>;
}

export interface EvaluationStateOptions {
  readonly root: ModuleNode;
  /** Complete and marked. */
  readonly variables: ReadonlyMap<string, Value>;
  readonly workspace: string;
  /** What functions may use, without the files. */
  readonly host: Omit<FunctionHost, "files">;
  /** Records what functions read. @default it is not recorded */
  readonly reads?: FileReads;
  /** What `terraform.applying` says. */
  readonly applying: boolean;
  /** Functions of the providers of a module; undefined where the configuration calls none. */
  readonly providerFunctions?: ((module: ModuleNode) => ProviderFunctionResolver) | undefined;
  /**
   * What a resource is that has no value yet: an error of the engine (`strict`, while applying), or unknown
   * (`lenient`, where only a part of the configuration is walked).
   */
  readonly missing: "strict" | "lenient";
  /**
   * Whether what uses a variable waits for its conditions, which are named `variable ADDRESS`; while applying those that
   * the plan could not decide. @default none
   */
  readonly guards?: (check: string) => boolean;
  /** The walk goes over what is recorded: modules without objects are expanded when they are asked for. @default false */
  readonly expandsCalls?: boolean;
}

/** Everything that expressions of one walk see, from the root module down. */
export class EvaluationState {
  readonly recorder = new DependencyRecorder();
  readonly workspace: string;
  readonly applying: boolean;
  readonly expandsCalls: boolean;
  readonly rootVariables: ReadonlyMap<string, Value>;
  readonly root: ModuleInstance;
  /** Problems of variables, locals and outputs, each reported once. */
  readonly diagnostics: Diagnostic[] = [];
  readonly #options: EvaluationStateOptions;
  readonly #providerTables = new Map<ModuleNode, ProviderFunctionTable>();
  readonly #tables = new Map<BundleFiles, FunctionTable>();
  /** Absent where the configuration has no ephemeral resources, or none is to be opened. */
  opener: EphemeralOpener | undefined;
  /** Ephemeral resources that were asked for and are not open. */
  readonly #wanted = new Set<Target>();
  /** How often one was asked for in vain. */
  #asked = 0;
  /** Results of the outermost evaluation in progress that wait for answers, by what they are of. */
  readonly #waiting = new Map<string, Recorded<unknown>>();
  /** How many evaluations are in progress, each within the one before. */
  #depth = 0;

  constructor(options: EvaluationStateOptions) {
    this.#options = options;
    this.workspace = options.workspace;
    this.applying = options.applying;
    this.expandsCalls = options.expandsCalls ?? false;
    this.rootVariables = options.variables;
    this.root = new ModuleInstance(this, options.root);
  }

  functionsOf(node: ModuleNode): FunctionTable {
    const { host, providerFunctions, reads } = this.#options;
    const files = reads?.wrap(node.files) ?? node.files;
    let base = this.#tables.get(files);
    if (base === undefined) {
      const standard = createFunctionTable(STANDARD_FUNCTIONS, { ...host, files });
      base = { ...standard, pending: () => this.#asked };
      this.#tables.set(files, base);
    }
    const source = providerFunctions?.(node);
    if (source === undefined) return base;
    let table = this.#providerTables.get(node);
    if (table === undefined) {
      table = withProviderFunctions(base, source);
      this.#providerTables.set(node, table);
    }
    return table;
  }

  /** Rises with everything that an evaluation asks for and that is not there yet: answers of provider functions, ephemeral resources. */
  get pending(): number {
    let pending = this.#asked;
    for (const table of this.#providerTables.values()) pending += table.pending();
    return pending;
  }

  /**
   * Evaluates until all its requests are answered: calls of provider functions and ephemeral resources. The result of
   * an evaluation without its answers is dropped, so `run` must have no side effects.
   */
  async settled<T>(run: () => T): Promise<T> {
    if (this.#providerTables.size === 0 && this.opener === undefined) return run();
    const settle = async (): Promise<void> => {
      for (const table of this.#providerTables.values()) await table.settle();
      const wanted = [...this.#wanted];
      this.#wanted.clear();
      await this.opener?.open(wanted);
    };
    return evaluateSettled({ pending: () => this.pending, settle }, run);
  }

  /**
   * Lets everything be answered that an evaluation asks for, which then follows. Nothing is evaluated where a configuration can ask for
   * nothing.
   */
  async answered(run: () => unknown): Promise<void> {
    if (this.#options.providerFunctions === undefined && this.opener === undefined) return;
    await this.settled(run);
  }

  /**
   * Whether an ephemeral resource, or an instance of it, has no value before it was opened. Each request is recorded,
   * as every evaluation without an answer has to be repeated.
   */
  wants(resource: ResourceValues, key: InstanceKey | undefined): boolean {
    const missing = resource.unopened(key);
    if (missing.length === 0) return false;
    for (const target of missing) this.#wanted.add(target);
    this.#asked += 1;
    return true;
  }

  /**
   * Evaluates something with a name, such as a local, and says whether it waits for answers: its caller keeps it otherwise. One that waits
   * is evaluated once for the outermost evaluation around it, however often that asks for it. Without that, a chain in which each names
   * the one before twice would take twice the time with every step.
   *
   * @param apart whether the evaluation around it does not use what this one reads
   */
  evaluateNamed<T>(
    name: string,
    evaluate: () => T,
    apart = false,
  ): Recorded<T> & { readonly isWaiting: boolean } {
    const known = this.#waiting.get(name) as Recorded<T> | undefined;
    if (known !== undefined) {
      // Who asks has to ask again, as the first one has.
      this.#asked += 1;
      if (!apart) {
        this.recorder.touchAll(known.targets);
        this.recorder.block(known.blocked);
      }
      return { ...known, isWaiting: true };
    }
    const { pending } = this;
    this.#depth += 1;
    try {
      const recorded = apart ? this.recorder.apart(evaluate) : this.recorder.record(evaluate);
      const isWaiting = this.pending > pending;
      if (isWaiting) this.#waiting.set(name, recorded);
      return { ...recorded, isWaiting };
    } finally {
      this.#depth -= 1;
      if (this.#depth === 0) this.#waiting.clear();
    }
  }

  report(diagnostics: readonly Diagnostic[]): void {
    this.diagnostics.push(...diagnostics);
  }

  /** Whether what uses a variable waits for its conditions. */
  guards(check: string): boolean {
    return this.#options.guards?.(check) === true;
  }

  /** The value of something that has none yet. */
  missing(address: string): Value {
    if (this.#options.missing === "lenient") return Value.dynamic;
    throw new EngineError(
      "ENGINE_WALK_ORDER",
      `${address} was asked for before it had a value: its dependents must wait for it`,
      { details: { addresses: [address] } },
    );
  }

  /** The instances of a module that is called along the path, in order. Calls on the way must be expanded. */
  modules(path: readonly string[]): ModuleInstance[] {
    let modules = [this.root];
    for (const name of path) {
      modules = modules.flatMap((module) => [
        ...(module.calls.get(name)?.instances.values() ?? []),
      ]);
    }
    return modules;
  }

  /** A module instance by its address. */
  module(address: string): ModuleInstance | undefined {
    if (address === "") return this.root;
    this.#byAddress ??= new Map();
    const known = this.#byAddress.get(address);
    if (known !== undefined) return known;
    for (const module of this.allModules()) this.#byAddress.set(module.address, module);
    return this.#byAddress.get(address);
  }
  #byAddress: Map<string, ModuleInstance> | undefined;

  /** All module instances that exist by now, parents first. */
  *allModules(): Generator<ModuleInstance> {
    const open = [this.root];
    // Grows while it is walked.
    for (const module of open) {
      yield module;
      for (const call of module.calls.values()) {
        for (const instance of call.instances.values()) open.push(instance);
      }
    }
  }
}
