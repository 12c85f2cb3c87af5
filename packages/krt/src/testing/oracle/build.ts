import {
  any,
  byIndex,
  byIndexKeys,
  byKey,
  byKeys,
  byLabels,
  byName,
  type Collection,
  count,
  type Filter,
  type Index,
  type InputCollection,
  inputFetch,
  kind,
  partial,
  type Runtime,
  type StatusOf,
  selecting,
  selectingNonEmpty,
  staticFetch,
  sum,
  type TransformationContext,
  where,
} from "../../index.ts";
import { type FetchDesc, type FilterDesc, GROUPS, type NodeDesc, type Obj } from "./program.ts";
import {
  derived,
  derivedMany,
  discards,
  fails,
  groupAt,
  grouped,
  groupsAt,
  keyAt,
  merged,
  orderOf,
  projectionOf,
  runFetches,
  singletonOf,
  statusOf,
  summed,
  UNIT,
  viewed,
  weightOf,
} from "./semantics.ts";

type Objects = Collection<Obj, "name" | "labels" | "selector">;

/** A member of a nested join, by the number of its collection. */
interface Member {
  readonly key: string;
  readonly at: number;
}

/** One collection of a program in the package. */
export interface BuiltNode {
  readonly objects: Objects;
  readonly source?: InputCollection<Obj>;
  readonly status?: Collection<StatusOf<Obj, number>>;
  readonly members?: InputCollection<Member>;
  runs: number;
}

const OBJ = kind<Obj>()({
  name: (object) => object.key,
  labels: (object) => object.labels,
  selector: (object) => object.selector,
});

const groupOf = (object: Obj): string => object.g;
const isEven = where((object: Obj) => object.n % 2 === 0);
const projection = partial(projectionOf);

/** Puts the collections of a program into a runtime. */
export class Builder {
  readonly nodes: BuiltNode[] = [];
  readonly #rt: Runtime;
  readonly #indexes = new Map<Objects, Index<string, Obj>>();

  constructor(rt: Runtime) {
    this.#rt = rt;
  }

  add(desc: NodeDesc, refs: readonly number[]): BuiltNode {
    const node: { -readonly [K in keyof BuiltNode]?: BuiltNode[K] } = { runs: 0 };
    Object.assign(node, this.#create(desc, refs, node as BuiltNode));
    this.nodes.push(node as BuiltNode);
    return node as BuiltNode;
  }

  /** All objects of a collection, by way of its index. */
  lookup(at: number): Obj[] {
    const { objects } = this.nodes[at] as BuiltNode;
    const index = this.#indexes.get(objects);
    if (index === undefined) return [...objects.list()];
    return GROUPS.flatMap((group) => index.lookup(group));
  }

  labelIndex(at: number): void {
    const { objects } = this.nodes[at] as BuiltNode;
    this.#rt.labelIndex(objects, ["app"]);
    this.#rt.selectorIndex(objects, ["tier", "app"]);
  }

  #at(at: number): Objects {
    return (this.nodes[at] as BuiltNode).objects;
  }

  #create(desc: NodeDesc, refs: readonly number[], node: BuiltNode): Omit<BuiltNode, "runs"> {
    const rt = this.#rt;
    const options = { kind: OBJ };
    const first = refs[0] ?? 0;
    switch (desc.type) {
      case "source": {
        const source = rt.source<Obj, "name" | "labels" | "selector">([], {
          ...options,
          synced: desc.synced,
        });
        return { objects: source, source };
      }
      case "derive": {
        const objects = rt.derive(
          this.#at(first),
          (ctx, input): Obj | undefined => {
            const total = this.#total(ctx, desc.fetches, refs.slice(1), input, node);
            if (desc.fails && fails(input, total)) throw new Error("planned");
            if (desc.discards && discards(input, total)) ctx.discard();
            return derived(input, total);
          },
          options,
        );
        return { objects };
      }
      case "declared":
        return { objects: this.#declared(desc.fetches, refs, node) };
      case "many": {
        const objects = rt.deriveMany(
          this.#at(first),
          (ctx, input) =>
            derivedMany(input, this.#total(ctx, desc.fetches, refs.slice(1), input, node)),
          options,
        );
        return { objects };
      }
      case "singleton": {
        const objects = rt.deriveSingleton<Obj, "name" | "labels" | "selector">(
          (ctx): Obj | undefined => singletonOf(this.#total(ctx, desc.fetches, refs, UNIT, node)),
          options,
        );
        return { objects };
      }
      case "status": {
        const { status, output } = rt.deriveWithStatus<
          Obj,
          number,
          Obj,
          "name" | "labels" | "selector"
        >(
          this.#at(first),
          (ctx, input) => {
            const total = this.#total(ctx, desc.fetches, refs.slice(1), input, node);
            return { status: statusOf(input, total), output: derived(input, total) };
          },
          options,
        );
        return { objects: output, status };
      }
      case "join":
      case "nested":
      case "view":
      case "ordered":
      case "groups":
      case "sums":
        return this.#combine(desc, refs);
      default:
        return desc satisfies never;
    }
  }

  /** Fetches without conditions are the same for all inputs, others depend on the input. */
  #declared(fetches: readonly FetchDesc[], refs: readonly number[], node: BuiltNode): Objects {
    const declare = (fetch: FetchDesc, i: number) => {
      const target = this.#at(refs[i + 1] ?? 0);
      const filters = (input: Obj) =>
        fetch.filters.flatMap((filter) => this.#filter(filter, target, input));
      const constant = fetch.filters.every(({ type }) => type === "all" || type === "whereStable");
      return constant ? staticFetch(target, ...filters(UNIT)) : inputFetch(target, filters);
    };
    return this.#rt.derive(
      this.#at(refs[0] ?? 0),
      (_, input, fetched): Obj | undefined => {
        const total = runFetches(fetches, input, (fetch) => fetched[fetches.indexOf(fetch)] ?? []);
        node.runs++;
        return derived(input, total);
      },
      { kind: OBJ, fetches: Object.fromEntries(fetches.map((fetch, i) => [i, declare(fetch, i)])) },
    );
  }

  #combine(
    desc: Extract<NodeDesc, { type: "join" | "nested" | "view" | "ordered" | "groups" | "sums" }>,
    refs: readonly number[],
  ): Omit<BuiltNode, "runs"> {
    const rt = this.#rt;
    const options = { kind: OBJ };
    const base = this.#at(refs[0] ?? 0);
    switch (desc.type) {
      case "join":
        return {
          objects: rt.join(
            refs.map((at) => this.#at(at)),
            { ...options, ...(desc.merge && { merge: merged }) },
          ),
        };
      case "nested": {
        const members = rt.source<Member>(refs.map((at, i) => ({ key: `m${i}`, at })));
        const container = rt.view(members, ({ at }): Collection<Obj> => this.#at(at));
        const objects = rt.joinNested(container, {
          ...options,
          ...(desc.merge && { merge: merged }),
        });
        return { objects, members };
      }
      case "view":
        return { objects: rt.view(base, viewed, options) };
      case "ordered": {
        const { offset, limit } = desc;
        const window = { offset, ...(limit > 0 && { limit }) };
        return { objects: rt.ordered(base, orderOf, { ...options, ...window }) };
      }
      case "groups": {
        const groups = this.#indexOf(base).asCollection();
        return {
          objects: rt.derive(groups, (_, { key, objects }) => grouped(key, objects), options),
        };
      }
      case "sums": {
        const sums = rt.aggregateBy(base, { by: groupOf }, { sum: sum(weightOf), n: count() });
        return {
          objects: rt.derive(
            sums,
            (_, { key, values }) => summed(key, values.sum, values.n),
            options,
          ),
        };
      }
      default:
        return desc satisfies never;
    }
  }

  #indexOf(objects: Objects): Index<string, Obj> {
    let index = this.#indexes.get(objects);
    if (index === undefined) {
      index = this.#rt.index(objects, groupOf, { name: "g" });
      this.#indexes.set(objects, index);
    }
    return index;
  }

  /** Makes the fetches of a transformation; the run counts once it has made them all. */
  #total(
    ctx: TransformationContext,
    fetches: readonly FetchDesc[],
    refs: readonly number[],
    input: Obj,
    node: BuiltNode,
  ): number {
    const total = runFetches(fetches, input, (fetch, from) => {
      const target = this.#at(refs[fetches.indexOf(fetch)] ?? 0);
      const filters = fetch.filters.flatMap((filter) => this.#filter(filter, target, from));
      if (fetch.partial) return ctx.fetchPartial(target, projection, ...filters);
      const single = filters.length === 1 && fetch.filters[0]?.type === "key";
      if (!single) return ctx.fetch(target, ...filters);
      const found = ctx.fetchOne(target, ...filters);
      return found === undefined ? [] : [found];
    });
    node.runs++;
    return total;
  }

  #filter(
    filter: FilterDesc,
    target: Objects,
    input: Obj,
  ): Filter<Obj, "name" | "labels" | "selector">[] {
    switch (filter.type) {
      case "all":
        return [];
      case "key":
        return [byKey(keyAt(input, filter.offset))];
      case "name":
        return [byName(undefined, keyAt(input, filter.offset))];
      case "keys":
        return [byKeys(filter.offsets.map((offset) => keyAt(input, offset)))];
      case "index":
        return [byIndex(this.#indexOf(target), groupAt(input, filter.own))];
      case "indexKeys":
        return [byIndexKeys(this.#indexOf(target), groupsAt(input))];
      case "labels":
        return [byLabels(input.labels)];
      case "selecting":
        return [filter.empty ? selecting(input.labels) : selectingNonEmpty(input.labels)];
      case "whereStable":
        return [isEven];
      case "whereInline":
        return [where((object: Obj) => object.n > input.n)];
      case "any":
        return [any<Obj>(byKey(input.key), byIndex(this.#indexOf(target), input.g))];
      default:
        return filter satisfies never;
    }
  }
}
