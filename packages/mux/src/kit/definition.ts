import type { Native, Value } from "@stackwright/cty";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type { LifecycleContext, OperationIdentity } from "../router/lifecycle-provider.ts";
import type { Attributes, HandlerResult, PartlyKnown, StateOf, StoredOf } from "./attribute.ts";
import type { AttributeType, InputOf } from "./attribute-type.ts";
import { ContentFailure, convertPart } from "./content-failure.ts";

type MaybePromise<T> = T | Promise<T>;

/** What goes with every call of provider code. `Client` is what `configure` of the provider returned. */
export interface KitContext<Client> {
  readonly client: Client;
  /** Aborted when the caller gives up or the provider is asked to stop. */
  readonly signal: AbortSignal;
  /** Present in create, update and delete that the engine records. */
  readonly operation?: OperationIdentity;
}

/** A plan that a definition may alter before it is shown. */
export interface PlanDraft<A extends Attributes> {
  /** Null for a create. */
  readonly prior: StateOf<A> | null;
  readonly config: PartlyKnown<A>;
  readonly planned: PartlyKnown<A>;
  /** Decides computed attributes already now; `undefined` makes one unknown. */
  set(this: void, outcome: HandlerResult<A>): void;
  /** Asks for a new object because of these attributes. */
  replaceBecauseOf(this: void, ...names: (keyof A & string)[]): void;
}

/**
 * A stored object as plain data: lists and sets are arrays, maps and objects plain objects. A number that no double
 * equals is a bigint, or a BigFloat.
 */
export type StoredJson = Readonly<Record<string, Native | undefined>>;

/**
 * One resource type. What create and update leave out of their result is taken from the plan; what was
 * planned as unknown and is left out becomes null.
 */
export interface ResourceDefinition<A extends Attributes, Client> {
  readonly attributes: A;
  readonly description?: string;
  /** Version of the stored form. @default 0 */
  readonly version?: number;
  validate?(config: PartlyKnown<A>): MaybePromise<readonly ProviderDiagnostic[]>;
  plan?(draft: PlanDraft<A>, context: KitContext<Client>): MaybePromise<void>;
  create(planned: PartlyKnown<A>, context: KitContext<Client>): MaybePromise<HandlerResult<A>>;
  /** The current object; `undefined` when it is gone. Without it the stored object is believed. */
  read?(state: StateOf<A>, context: KitContext<Client>): MaybePromise<HandlerResult<A> | undefined>;
  /** Without it every change replaces the object. */
  update?(
    planned: PartlyKnown<A>,
    prior: StateOf<A>,
    context: KitContext<Client>,
  ): MaybePromise<HandlerResult<A>>;
  delete(state: StateOf<A>, context: KitContext<Client>): MaybePromise<void>;
  /** Finds an object by the id that its users know; `undefined` when there is none. */
  import?(id: string, context: KitContext<Client>): MaybePromise<HandlerResult<A> | undefined>;
  /**
   * Brings an object that an older version stored to the present form; `version` is the one it was stored with.
   * Needed from version 1 on.
   *
   * `stored` has what fits the present types, in the same forms as everywhere. What is left out of the result stays
   * as it is stored, so an attribute that is new needs no word. `json` is all that was stored, for attributes that
   * are called otherwise now, or have another type: of the latter the result has to say what becomes of them.
   */
  upgrade?(stored: StoredOf<A>, version: number, json: StoredJson): MaybePromise<HandlerResult<A>>;
}

export interface DataSourceDefinition<A extends Attributes, Client> {
  readonly attributes: A;
  readonly description?: string;
  validate?(config: PartlyKnown<A>): MaybePromise<readonly ProviderDiagnostic[]>;
  /** What is left out is taken from the configuration. */
  read(config: StateOf<A>, context: KitContext<Client>): MaybePromise<HandlerResult<A>>;
}

export interface FunctionParameter<T, I = T> {
  readonly name: string;
  readonly type: AttributeType<T, I>;
  readonly description?: string;
}

type Parameters = readonly FunctionParameter<unknown>[];
type ArgumentsOf<P extends Parameters> = {
  readonly [I in keyof P]: P[I] extends FunctionParameter<infer T, infer _> ? T : never;
};

export interface ProviderFunctionDefinition<
  P extends Parameters,
  R extends AttributeType<unknown>,
> {
  readonly parameters: P;
  readonly result: R;
  readonly summary?: string;
  readonly description?: string;
  call(...args: ArgumentsOf<P>): MaybePromise<InputOf<R>>;
}

/** A definition whose attribute types are forgotten, as a provider keeps it. */
export type AnyResource<Client> = ResourceDefinition<Attributes, Client>;
export type AnyDataSource<Client> = DataSourceDefinition<Attributes, Client>;
export interface AnyFunction {
  readonly parameters: Parameters;
  readonly result: AttributeType<unknown>;
  readonly summary?: string;
  readonly description?: string;
  call(args: readonly Value[]): Promise<Value>;
}

/** What a provider is made of. Every name begins with the name of the provider and an underscore. */
export interface ProviderDefinition<C extends Attributes, Client> {
  readonly config: C;
  readonly description?: string;
  validate?(config: PartlyKnown<C>): MaybePromise<readonly ProviderDiagnostic[]>;
  /** Makes what all other calls get as `context.client`. */
  configure(config: StateOf<C>, context: LifecycleContext): MaybePromise<Client>;
  readonly resources?: Readonly<Record<string, AnyResource<Client>>>;
  readonly dataSources?: Readonly<Record<string, AnyDataSource<Client>>>;
  readonly functions?: Readonly<Record<string, AnyFunction>>;
  /** Frees what `configure` made. */
  close?(client: Client): MaybePromise<void>;
}

/** Types a resource from its attributes. The result goes into `resources` of a provider. */
export function defineResource<A extends Attributes, Client>(
  definition: ResourceDefinition<A, Client>,
): AnyResource<Client> {
  return definition;
}

/** Types a data source from its attributes. */
export function defineDataSource<A extends Attributes, Client>(
  definition: DataSourceDefinition<A, Client>,
): AnyDataSource<Client> {
  return definition;
}

/** Parameters and results are no attributes, so they are identified by name alone. */
const place = (text: string) => ({ text, path: undefined });

/** Types a function from its parameters. Arguments are known and not null. */
export function defineFunction<const P extends Parameters, R extends AttributeType<unknown>>(
  definition: ProviderFunctionDefinition<P, R>,
): AnyFunction {
  const { parameters, result } = definition;
  return {
    ...definition,
    async call(args) {
      const contents = args.map((arg, index) => {
        const parameter = parameters[index];
        if (parameter === undefined) throw new ContentFailure("there are too many arguments");
        return convertPart(place(parameter.name), () => parameter.type.fromValue(arg));
      });
      const content = await definition.call(...(contents as never));
      return convertPart(place("result"), () => result.toValue(content));
    },
  };
}
