import { type Type, Value } from "@stackwright/cty";
import { FunctionError, type LangFunction, type Parameter } from "../eval/function.ts";
import type { FunctionTable } from "../eval/function-table.ts";

/** A parameter of a provider's function. Declarations that say more fit as well. */
export interface ProviderParameter {
  readonly name: string;
  readonly type: Type;
  readonly allowNull: boolean;
  readonly allowUnknown: boolean;
  readonly description: string;
}

/** What a provider declares about one of its functions. */
export interface ProviderFunctionSchema {
  readonly parameters: readonly ProviderParameter[];
  readonly variadic?: ProviderParameter;
  readonly returnType: Type;
  readonly summary: string;
  readonly description: string;
  /** Not empty for functions that should not be used any more. */
  readonly deprecationMessage: string;
}

/** What came of a call: the result, or what is wrong, perhaps with an argument by its index. */
export type ProviderCallResult =
  | { readonly result: Value }
  | { readonly error: { readonly text: string; readonly argument?: number } };

/** A call of a provider's function. Arguments are unmarked and as the parameters allow. */
export interface ProviderCall {
  /** Local name of the provider in the module of the call. */
  readonly provider: string;
  readonly name: string;
  readonly arguments: readonly Value[];
}

/** The functions of the providers of one module. */
export interface ProviderFunctionResolver {
  /** Names of functions by local name of the provider; undefined for a provider that is not declared. */
  functions(provider: string): ReadonlyMap<string, ProviderFunctionSchema> | undefined;
  /** Local names of providers, for suggestions. */
  providers(): Iterable<string>;
  /** Calls one. Functions are pure: equal arguments give equal results. */
  call(call: ProviderCall): Promise<ProviderCallResult>;
}

/** A table with the functions of providers, which are called outside of evaluation. */
export interface ProviderFunctionTable extends FunctionTable {
  pending(): number;
  /** Makes all calls that evaluations have asked for, and keeps what they answer. */
  settle(): Promise<void>;
}

/**
 * Adds `provider::name::function` to a table. Evaluation is synchronous and providers are not: a
 * call whose result is not there yet is noted, and its value is unknown. {@link evaluateSettled}
 * evaluates until nothing is open. Results are kept for the life of the table, so that each
 * different call is made once.
 */
export function withProviderFunctions(
  base: FunctionTable,
  source: ProviderFunctionResolver,
): ProviderFunctionTable {
  return new Table(base, source);
}

/** Most rounds of evaluation; calls nested more deeply in each other stay unknown. */
const MAX_ROUNDS = 100;

/**
 * Evaluates, makes the calls of provider functions that came up, and evaluates again with their
 * results, until none came up. `run` must be pure but for the table. Rejects where a call does.
 */
export async function evaluateSettled<T>(
  functions: Pick<ProviderFunctionTable, "pending" | "settle">,
  run: () => T,
): Promise<T> {
  for (let round = 0; ; round++) {
    const before = functions.pending();
    const result = run();
    if (functions.pending() === before || round === MAX_ROUNDS) return result;
    // Each round depends on the results of the one before.
    // oxlint-disable-next-line no-await-in-loop
    await functions.settle();
  }
}

/** Calls of one function with their results; undefined while a result is awaited. */
interface Known {
  readonly call: ProviderCall;
  result: ProviderCallResult | undefined;
}

class Table implements ProviderFunctionTable {
  readonly #base: FunctionTable;
  readonly #source: ProviderFunctionResolver;
  readonly #definitions = new Map<string, LangFunction>();
  /** By name and a hash of the arguments. */
  readonly #known = new Map<string, Known[]>();
  /** Calls that are still to be made. */
  #open: Known[] = [];
  /** Calls that are being made. */
  readonly #flights = new Set<Promise<void>>();
  #pending = 0;

  constructor(base: FunctionTable, source: ProviderFunctionResolver) {
    this.#base = base;
    this.#source = source;
  }

  get host(): FunctionTable["host"] {
    return this.#base.host;
  }

  get(name: string): LangFunction | undefined {
    if (!name.startsWith("provider::")) return this.#base.get(name);
    const known = this.#definitions.get(name);
    if (known !== undefined) return known;
    const [, provider = "", own = "", extra] = name.split("::");
    const schema = extra === undefined ? this.#source.functions(provider)?.get(own) : undefined;
    if (schema === undefined) return undefined;
    const definition = this.#define(provider, own, name, schema);
    this.#definitions.set(name, definition);
    return definition;
  }

  *names(): Iterable<string> {
    yield* this.#base.names();
    for (const provider of this.#source.providers()) {
      const functions = this.#source.functions(provider);
      for (const name of functions?.keys() ?? []) yield `provider::${provider}::${name}`;
    }
  }

  pending(): number {
    return this.#pending + (this.#base.pending?.() ?? 0);
  }

  async settle(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    for (const entry of open) {
      const flight = this.#fetch(entry).finally(() => this.#flights.delete(flight));
      this.#flights.add(flight);
    }
    // What others are waiting for counts: the next evaluation may need it as well.
    const results = await Promise.allSettled(this.#flights);
    const failed = results.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #fetch(entry: Known): Promise<void> {
    try {
      entry.result = await this.#source.call(entry.call);
    } finally {
      // A call without a result is repeated by the next evaluation.
      if (entry.result === undefined) this.#forget(entry);
    }
  }

  #forget({ call }: Known): void {
    const key = callKey(call);
    const left = (this.#known.get(key) ?? []).filter((entry) => entry.call !== call);
    this.#known.set(key, left);
  }

  #define(
    provider: string,
    own: string,
    name: string,
    { parameters, variadic, returnType, summary, deprecationMessage }: ProviderFunctionSchema,
  ): LangFunction {
    const parameterAt = (at: number): ProviderParameter | undefined => parameters[at] ?? variadic;
    return {
      name,
      category: "provider",
      description: summary,
      parameters: parameters.map(toParameter),
      ...(variadic !== undefined && { rest: toParameter(variadic) }),
      ...(deprecationMessage !== "" && { deprecated: deprecationMessage }),
      returns: returnType,
      nullable: true,
      call: (args) => {
        const open = args.some(
          (arg, at) => !arg.isWhollyKnown && parameterAt(at)?.allowUnknown !== true,
        );
        if (open) return Value.unknown(returnType);
        return this.#call({ provider, name: own, arguments: args }, returnType);
      },
    };
  }

  #call(call: ProviderCall, returnType: Type): Value {
    const key = callKey(call);
    const known = this.#known.get(key) ?? [];
    this.#known.set(key, known);
    let entry = known.find(({ call: other }) => sameArguments(call.arguments, other.arguments));
    if (entry === undefined) {
      entry = { call, result: undefined };
      known.push(entry);
      this.#open.push(entry);
    }
    const { result } = entry;
    if (result === undefined) {
      this.#pending++;
      return Value.unknown(returnType);
    }
    if ("result" in result) return result.result;
    throw new FunctionError(result.error.text.replace(/\.$/, ""), result.error.argument);
  }
}

function toParameter({ name, type, allowNull, allowUnknown, description }: ProviderParameter) {
  return {
    name,
    type,
    description: description === "" ? name : description,
    allowNull,
    allowUnknown,
    allowDynamic: true,
  } satisfies Parameter;
}

/** Equal calls have equal keys; which of the others have an equal one does not matter. */
function callKey({ provider, name, arguments: args }: ProviderCall): string {
  const parts = args.map((arg) => {
    if (!arg.isKnown || arg.isNull) return "?";
    if (arg.type.kind === "string") return arg.asString();
    return arg.type.kind === "number" ? arg.asBigFloat().toString() : arg.type.kind;
  });
  return JSON.stringify([provider, name, ...parts]);
}

function sameArguments(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((value, at) => b[at]?.rawEquals(value) === true);
}
