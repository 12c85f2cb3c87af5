import type { Aggregate, Aggregators, GroupBy } from "./aggregate.ts";
import type {
  Cell,
  Collection,
  CollectionOptions,
  InputCollection,
  Singleton,
} from "./collection.ts";
import type {
  ManyFromTransformation,
  ManyTransformation,
  Output,
  RecursiveTransformation,
  SingletonTransformation,
  Transformation,
  TransformationContext,
} from "./context.ts";
import { AggregateNode } from "./core/aggregate-node.ts";
import { CellNode } from "./core/cell-node.ts";
import type { DerivedSpec } from "./core/derived-node.ts";
import { JoinNode, type JoinRule } from "./core/join-node.ts";
import { LabelIndex } from "./core/label-index.ts";
import { ManyNode } from "./core/many-node.ts";
import { NestedJoinNode } from "./core/nested-join-node.ts";
import type { AnyNode, CollectionNode } from "./core/node.ts";
import { OrderedNode } from "./core/ordered-node.ts";
import { RecursiveNode } from "./core/recursive-node.ts";
import { Owner } from "./core/scope.ts";
import { SingleNode } from "./core/single-node.ts";
import { SourceNode } from "./core/source-node.ts";
import { StatusNode } from "./core/status-node.ts";
import { nodeOf } from "./core/tracker.ts";
import { ViewNode } from "./core/view-node.ts";
import type { DeclaredFetches, DeclaredFetchSpec } from "./declared-fetch.ts";
import { KrtError } from "./errors.ts";
import { createExternal, createTrigger, type External, Held, type Trigger } from "./external.ts";
import { type Kind, type KindCapability, SINGLETON_KEY, shapeKind, singletonKey } from "./kind.ts";
import type { Labels } from "./labels.ts";
import type {
  DeclaredOptions,
  DeriveOptions,
  JoinOptions,
  OrderOptions,
  Scope,
  ScopeOptions,
  SourceOptions,
  StatusPair,
  ViewOptions,
  WithStatus,
} from "./scope.ts";
import type { Index, IndexKeys, IndexOptions } from "./secondary-index.ts";

/** The user's side of an {@link Owner}: checks what it is given, makes nodes, and puts them into the graph. */
export class ScopeHandle implements Scope {
  readonly #owner: Owner;
  readonly #signal: AbortSignal | undefined;

  constructor(owner: Owner, signal?: AbortSignal) {
    this.#owner = owner;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  readonly #abort = (): void => this.dispose();

  get disposed(): boolean {
    return this.#owner.disposed;
  }

  /** The owner behind this scope, for parts of this package that make nodes of their own. */
  get owner(): Owner {
    if (this.#owner.disposed) throw new KrtError("KRT_DISPOSED", "the scope was disposed");
    this.#owner.graph.writes.pay();
    return this.#owner;
  }

  scope({ prefix, signal }: ScopeOptions = {}): Scope {
    const inner = new ScopeHandle(new Owner(this.owner.graph, this.owner, prefix), signal);
    if (signal?.aborted === true) inner.dispose();
    return inner;
  }

  dispose(): void {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#owner.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #enter<N extends AnyNode>(node: N, init?: () => void): N {
    this.#owner.graph.construct(node, init);
    return node;
  }

  // ---- sources ----

  source<T, Tr extends KindCapability = never>(
    initial: Iterable<T> = [],
    options: SourceOptions<T, Tr> = {},
  ): InputCollection<T, Tr> {
    const node = new SourceNode<T>(this.owner, options.kind ?? shapeKind<T>(), options);
    return this.#enter(node, () => node.begin(initial, options.synced !== false));
  }

  cell<T, Tr extends KindCapability = never>(
    initial?: T,
    options: SourceOptions<T, Tr> = {},
  ): Cell<T, Tr> {
    const node = new CellNode<T>(this.owner, options.kind ?? singletonKind<T>(), options);
    return this.#enter(node, () => node.init(initial, options.synced !== false));
  }

  trigger(options: CollectionOptions & { readonly synced?: boolean } = {}): Trigger {
    return createTrigger(this.cell<number>(0, options));
  }

  external<V>(
    value: V,
    options: CollectionOptions & { readonly synced?: boolean } = {},
  ): External<V> {
    const kind: Kind<Held<V>> = {
      ...shapeKind<Held<V>>(),
      key: () => SINGLETON_KEY,
      equals: Object.is,
    };
    const initial = new Held(value);
    return createExternal(initial, this.cell(initial, { ...options, kind }));
  }

  // ---- derivations ----

  derive<I, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: Transformation<I, O, never>,
    options: DerivationOptions<O, Tr> = {},
  ): Collection<O, Tr> {
    const spec = specOf(nodeOf(input), transformation, options);
    const kind = options.kind ?? shapeKind<O>();
    return this.#enter(new SingleNode<I, O>(this.owner, "derive", kind, spec, options));
  }

  deriveRecursive<I, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: RecursiveTransformation<I, O>,
    options: DeriveOptions<O, Tr> = {},
  ): Collection<O, Tr> {
    const spec = specOf(nodeOf(input), transformation as Transform<I, O>, options);
    const kind = options.kind ?? shapeKind<O>();
    return this.#enter(new RecursiveNode<I, O>(this.owner, "derive", kind, spec, options));
  }

  deriveMany<I, O, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: ManyTransformation<I, O, never>,
    options: DerivationOptions<O, Tr> = {},
  ): Collection<O, Tr> {
    const spec = specOf(nodeOf(input), transformation, options);
    const kind = options.kind ?? shapeKind<O>();
    return this.#enter(new ManyNode<I, O>(this.owner, "derive", kind, spec, options));
  }

  deriveSingleton<O extends Output, Tr extends KindCapability = never>(
    transformation: SingletonTransformation<O>,
    options: DeriveOptions<O, Tr> = {},
  ): Singleton<O, Tr> {
    const spec = specOf(undefined, transformation as Transform<unknown, O>, options);
    const kind = options.kind ?? singletonKind<O>();
    return this.#enter(new SingleNode<unknown, O>(this.owner, "singleton", kind, spec, options));
  }

  deriveManyFrom<O, Tr extends KindCapability = never>(
    transformation: ManyFromTransformation<O>,
    options: DeriveOptions<O, Tr> = {},
  ): Collection<O, Tr> {
    const spec = specOf(undefined, transformation, options);
    const kind = options.kind ?? shapeKind<O>();
    return this.#enter(new ManyNode<unknown, O>(this.owner, "derive", kind, spec, options));
  }

  deriveWithStatus<I, S, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: (context: TransformationContext, input: I) => WithStatus<S, O>,
    options: DeriveOptions<O, Tr> = {},
  ): StatusPair<I, S, O, Tr> {
    return this.#withStatus<I, S, O, Tr>(nodeOf(input), options, (status) => {
      const transform = transformation as unknown as Transform<I, O>;
      const spec = { ...specOf(nodeOf(input), transform, options), status };
      const kind = options.kind ?? shapeKind<O>();
      return new SingleNode<I, O>(this.owner, "derive", kind, spec, options);
    });
  }

  deriveManyWithStatus<I, S, O, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: (context: TransformationContext, input: I) => WithStatus<S, Iterable<O>>,
    options: DeriveOptions<O, Tr> = {},
  ): StatusPair<I, S, O, Tr> {
    return this.#withStatus<I, S, O, Tr>(nodeOf(input), options, (status) => {
      const transform = transformation as unknown as ManyTransformation<I, O>;
      const spec = { ...specOf(nodeOf(input), transform, options), status };
      const kind = options.kind ?? shapeKind<O>();
      return new ManyNode<I, O>(this.owner, "derive", kind, spec, options);
    });
  }

  /** The status collection comes first, since the derivation writes to it; then it receives the derivation. */
  #withStatus<I, S, O, Tr extends KindCapability>(
    primary: CollectionNode<I>,
    options: CollectionOptions,
    create: (status: StatusNode<I, unknown>) => AnyNode,
  ): StatusPair<I, S, O, Tr> {
    const base = options.name ?? `derive-${this.owner.graph.lastId + 2}`;
    const own = { ...options, name: `${base}/status` };
    const status = new StatusNode<I, unknown>(this.owner, own, primary.kind.equals);
    const output = create(status);
    status.follow(output);
    this.#enter(output);
    this.#enter(status);
    return { status, output } as unknown as StatusPair<I, S, O, Tr>;
  }

  // ---- combinations ----

  join<T, Tr extends KindCapability = never>(
    members: readonly Collection<T, Tr>[],
    options: JoinOptions<T, Tr> = {},
  ): Collection<T, Tr> {
    const nodes = members.map((member) => nodeOf(member) as CollectionNode<T>);
    const kind = options.kind ?? nodes[0]?.kind ?? shapeKind<T>();
    return this.#enter(
      new JoinNode(this.owner, nodes, ruleOf(options, nodes.length), kind, options),
    );
  }

  joinNested<T, Tr extends KindCapability = never>(
    container: Collection<Collection<T>>,
    options: Omit<JoinOptions<T, Tr>, "unchecked"> = {},
  ): Collection<T, Tr> {
    const kind = options.kind ?? shapeKind<T>();
    const outer = nodeOf(container) as CollectionNode<Collection<T>>;
    return this.#enter(new NestedJoinNode(this.owner, outer, options.merge, kind, options));
  }

  view<B, T, Tr extends KindCapability = never>(
    base: Collection<B>,
    project: (object: B) => T,
    options: ViewOptions<T, Tr> = {},
  ): Collection<T, Tr> {
    const given: Kind<T> = options.kind ?? shapeKind<T>();
    const kind = options.equals === undefined ? given : { ...given, equals: options.equals };
    const node = nodeOf(base) as CollectionNode<B>;
    return this.#enter(new ViewNode<B, T>(this.owner, node, project, kind, options));
  }

  ordered<T, Tr extends KindCapability = never>(
    collection: Collection<T, Tr>,
    compare: (a: T, b: T) => number,
    options: OrderOptions<T, Tr> = {},
  ): Collection<T, Tr> {
    const base = nodeOf(collection) as CollectionNode<T>;
    const { limit = Number.POSITIVE_INFINITY, offset = 0 } = options;
    const whole = limit === Number.POSITIVE_INFINITY && offset === 0;
    const window = { limit: wholeNumber("limit", limit), offset: wholeNumber("offset", offset) };
    const kind = options.kind ?? base.kind;
    return this.#enter(
      new OrderedNode<T>(this.owner, base, compare, whole ? undefined : window, kind, options),
    );
  }

  aggregate<T, A extends Aggregators<T>>(
    collection: Collection<T>,
    values: A,
    options: CollectionOptions = {},
  ): Singleton<Aggregate<string, A>> {
    const base = nodeOf(collection) as CollectionNode<T>;
    return this.#enter(
      new AggregateNode<T, string, A>(this.owner, base, values, undefined, options),
    );
  }

  aggregateBy<T, K, A extends Aggregators<T>>(
    collection: Collection<T>,
    grouping: GroupBy<T, K>,
    values: A,
    options: CollectionOptions = {},
  ): Collection<Aggregate<K, A>> {
    const base = nodeOf(collection) as CollectionNode<T>;
    return this.#enter(new AggregateNode<T, K, A>(this.owner, base, values, grouping, options));
  }

  // ---- indexes ----

  index<T, K>(
    collection: Collection<T>,
    extract: (object: T) => IndexKeys<K>,
    options: IndexOptions<K> = {},
  ): Index<K, T> {
    return (nodeOf(collection) as CollectionNode<T>).indexes.add(this.owner, extract, options);
  }

  namespaceIndex<T>(collection: Collection<T, "namespace">): Index<string, T> {
    const node = nodeOf(collection) as CollectionNode<T>;
    const { namespace } = node.kind;
    if (namespace === undefined) throw missingTrait(node, "namespace");
    return node.indexes.add<string>(this.owner, namespace, { name: "namespace" });
  }

  labelIndex<T>(collection: Collection<T, "labels">, names: readonly string[]): void {
    this.#labelIndex(nodeOf(collection) as CollectionNode<T>, "labels", names);
  }

  selectorIndex<T>(collection: Collection<T, "selector">, names: readonly string[]): void {
    this.#labelIndex(nodeOf(collection) as CollectionNode<T>, "selector", names);
  }

  #labelIndex<T>(node: CollectionNode<T>, trait: "labels" | "selector", names: readonly string[]) {
    const labelsOf: ((object: T) => Labels | undefined) | undefined = node.kind[trait];
    if (labelsOf === undefined) throw missingTrait(node, trait);
    const name = `${trait}:${names.join(",")}`;
    const { owner } = this;
    const existing = node.queries.labelIndexes.find((index) => index.store.name === name);
    if (existing !== undefined) {
      node.indexes.hold(owner, existing.store);
      return;
    }
    const createStore = (extract: (object: T) => readonly string[]) =>
      node.indexes.add<string>(owner, extract, { name });
    node.queries.labelIndexes.push(new LabelIndex<T>(names, trait, createStore, labelsOf));
  }
}

function wholeNumber(name: string, value: number): number {
  if (value >= 0 && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY))
    return value;
  throw new KrtError("KRT_INVALID_OPTION", `${name} must be a whole number, but is ${value}`);
}

/** The owner behind a scope. Throws `KRT_FOREIGN` for a scope that this package did not make. */
export function ownerOf(scope: Scope): Owner {
  if (scope instanceof ScopeHandle) return scope.owner;
  throw new KrtError("KRT_FOREIGN", "this is not a scope of this package");
}

type Transform<I, O> = (context: TransformationContext, input: I) => O | undefined | null;

type DerivationOptions<O, Tr extends KindCapability> =
  | DeriveOptions<O, Tr>
  | DeclaredOptions<O, DeclaredFetches<never>, Tr>;

function specOf<I, R, O, Tr extends KindCapability>(
  primary: AnyNode | undefined,
  transform: (context: TransformationContext, input: I, fetched: never) => R,
  { fetches, onFailure = "keep" }: DerivationOptions<O, Tr>,
): DerivedSpec<I, R> {
  const declared = fetches as Readonly<Record<string, DeclaredFetchSpec>> | undefined;
  return { primary, transform, onFailure, ...(declared !== undefined && { fetches: declared }) };
}

function ruleOf<T, Tr extends KindCapability>(
  { unchecked, merge }: JoinOptions<T, Tr>,
  members: number,
): JoinRule<T> {
  if (merge !== undefined) {
    if (unchecked !== true) return { type: "merge", merge };
    throw new KrtError("KRT_INVALID_OPTION", "a join cannot be unchecked and merge");
  }
  return unchecked === true || members === 1 ? { type: "unchecked" } : { type: "first" };
}

function singletonKind<T>(): Kind<T> {
  return { ...shapeKind<T>(), key: singletonKey };
}

function missingTrait(node: AnyNode, trait: KindCapability): KrtError {
  return new KrtError("KRT_TRAIT", `the objects of ${node.name} have no ${trait}`, {
    details: { collection: node.name },
  });
}
