import { decodeJsonImplied, Mark, type Value } from "@stackwright/cty";
import { groupBy } from "../group-by.ts";
import type { PairedBy } from "../model/diff.ts";
import { repeatsName } from "../model/repeats-name.ts";
import { align, type Pair } from "./align.ts";
import { assign } from "./assign.ts";
import { type Element, elementsOf, pairCost } from "./element.ts";
import { elementKeys } from "./element-keys.ts";
import { LeafNumbers } from "./leaves.ts";
import { PAIRING_RULES, type PairingRule } from "./pairing-rules.ts";
import type { ItemDiff, MemberDiff, ValueDiff } from "./value-diff.ts";
import { membersOf, shapeOf } from "./value-shape.ts";

/** What decides how values are compared. */
export interface PairingOptions {
  /** Resource type, for the rules. */
  readonly type?: string;
  /** Where the values are, as the places of rules are written. @default "", the object itself */
  readonly place?: string;
  /** Rules that come before the built-in ones. */
  readonly rules?: readonly PairingRule[];
}

/** Cells of all tables of one comparison; beyond that only equal elements and those of one key are paired. */
const MAX_TOTAL_CELLS = 5_000_000;

/**
 * The difference of two values. Sensitive parts are compared as a whole, unknown ones pair with anything.
 *
 * Guarantees: `applyValueDiff(diffValues(a, b), a)` equals `b` with its marks; `diffValues(a, a)` is `same`; elements of lists with
 * equal, unrepeated keys are pairs, elements with different keys never are; the work is bounded by the number of
 * elements, and by {@link MAX_TOTAL_CELLS}.
 */
export function diffValues(before: Value, after: Value, options: PairingOptions = {}): ValueDiff {
  return new Comparison(options).compare(before, after, options.place ?? "");
}

class Comparison {
  readonly #rules: readonly PairingRule[];
  #cells = MAX_TOTAL_CELLS;

  constructor({ type = "", rules = [] }: PairingOptions) {
    this.#rules = [...rules, ...PAIRING_RULES].filter(({ types }) => types?.test(type) !== false);
  }

  compare(before: Value, after: Value, place: string): ValueDiff {
    if (before.rawEquals(after)) return { kind: "same", value: before };
    if (before.hasMark(Mark.sensitive) || after.hasMark(Mark.sensitive)) {
      return { kind: "secret", before, after };
    }
    const [was] = before.unmark();
    const [is, marks] = after.unmark();
    if (!was.isKnown || !is.isKnown) return { kind: "change", before, after, note: "unknown" };
    if (was.isNull || is.isNull) return { kind: "change", before, after, note: "null" };
    const shape = shapeOf(is);
    if (shapeOf(was) !== shape) return { kind: "change", before, after, note: "type" };
    switch (shape) {
      case "members":
        return {
          kind: "members",
          type: after.type,
          marks,
          members: this.#members(membersOf(was), membersOf(is), place),
        };
      case "items":
      case "set":
        return this.#elements(was, after, place);
      case "leaf":
      default:
        if (was.type.kind === "string" && is.type.kind === "string") {
          return this.#texts(before, after, place);
        }
        return {
          kind: "change",
          before,
          after,
          ...(!was.type.equals(is.type) && { note: "type" as const }),
        };
    }
  }

  #members(
    was: ReadonlyMap<string, Value>,
    is: ReadonlyMap<string, Value>,
    place: string,
    context: ReadonlySet<string> = new Set(),
  ): MemberDiff[] {
    return [...new Set([...was.keys(), ...is.keys()])].toSorted().map((name) => {
      const [before, after] = [was.get(name), is.get(name)];
      const diff: ValueDiff =
        before === undefined
          ? { kind: "add", value: after as Value }
          : after === undefined
            ? { kind: "remove", value: before }
            : this.compare(before, after, `${place}.${name}`);
      return { name, diff, ...(context.has(name) && { context: true as const }) };
    });
  }

  #texts(before: Value, after: Value, place: string): ValueDiff {
    const [was, is] = [before.unmark()[0].asString(), after.unmark()[0].asString()];
    const [wasInside, isInside] = [documentIn(was), documentIn(is)];
    if (wasInside !== undefined && isInside !== undefined) {
      const body = this.compare(wasInside, isInside, `${place}{}`);
      return { kind: "document", before, after, body };
    }
    const lines = was.includes("\n") || is.includes("\n");
    return { kind: lines ? "text" : "change", before, after };
  }

  #elements(was: Value, after: Value, place: string): ValueDiff {
    const [is, marks] = after.unmark();
    const rule = this.#rules.find((one) => one.place.test(place));
    const unordered = is.type.kind === "set" || rule?.unordered === true;
    const items = this.#items(was.elements(), is.elements(), place, { rule, unordered });
    const orderOnly =
      unordered && is.type.kind !== "set" && items.every(({ diff }) => diff.kind === "same");
    return {
      kind: "items",
      type: after.type,
      marks,
      items,
      ...(orderOnly && { orderOnly: true as const }),
    };
  }

  #items(
    was: readonly Value[],
    is: readonly Value[],
    place: string,
    { rule, unordered }: { readonly rule: PairingRule | undefined; readonly unordered: boolean },
  ): ItemDiff[] {
    const keys = elementKeys(was, is, rule);
    const context = new Set([...keys.names, ...(rule?.context ?? [])]);
    const numbers = new LeafNumbers();
    const before = elementsOf(was, keys.before, numbers);
    const after = elementsOf(is, keys.after, numbers);
    const pairs = unordered ? this.#unordered(before, after) : this.#ordered(before, after);
    return itemsOf(before, after, pairs, (one, other) =>
      this.#pair(one.value, other.value, `${place}[]`, context),
    );
  }

  /** Two elements, with the members that identify them marked as context. */
  #pair(before: Value, after: Value, place: string, context: ReadonlySet<string>): ValueDiff {
    const diff = this.compare(before, after, place);
    if (diff.kind !== "members" || context.size === 0) return diff;
    return {
      ...diff,
      members: diff.members.map((member) =>
        context.has(member.name) ? { ...member, context: true as const } : member,
      ),
    };
  }

  #ordered(before: readonly Element[], after: readonly Element[]): Paired[] {
    const alone = before.length === 1 && after.length === 1;
    const sequences = {
      before: before.length,
      after: after.length,
      equal: (left: number, right: number) => sameElement(before[left], after[right]),
      related: (left: number, right: number) =>
        sameKey(before[left], after[right]) || sameElement(before[left], after[right]),
      removeCost: (left: number) => before[left]?.leaves.weight ?? 1,
      insertCost: (right: number) => after[right]?.leaves.weight ?? 1,
      pairCost: (left: number, right: number) => costOf(before[left], after[right], alone),
    };
    const { pairs, cells } = align(sequences, this.#cells);
    this.#cells -= cells;
    const paired: Paired[] = pairs.map((pair) => ({ pair, by: reason(pair, before, after) }));
    return [...paired, ...movedPairs(before, after, pairs)];
  }

  #unordered(before: readonly Element[], after: readonly Element[]): Paired[] {
    const equal = equalPairs(before, after);
    const [left, right] = rest(before, after, equal);
    const keyed = keyPairs(left, right);
    const [openLeft, openRight] = rest(left, right, keyed);
    const { pairs, cells } = assign(
      {
        before: openLeft.length,
        after: openRight.length,
        cost: (one, other) => Math.max(0, costOf(openLeft[one], openRight[other])),
        alone: (one, other) =>
          (openLeft[one]?.leaves.weight ?? 1) + (openRight[other]?.leaves.weight ?? 1),
      },
      this.#cells,
    );
    this.#cells -= cells;
    const assigned = pairs.map(
      ([one, other]): Pair => [openLeft[one]?.index ?? 0, openRight[other]?.index ?? 0],
    );
    const by = (pairs: readonly Pair[], paired: PairedBy): Paired[] =>
      pairs.map((pair) => ({ pair, by: paired, settled: true }));
    return [...by(equal, "equal"), ...by(keyed, "key"), ...by(assigned, "similarity")];
  }
}

/** A pair of positions and why it is one. */
interface Paired {
  readonly pair: Pair;
  readonly by: PairedBy;
  /** The elements have another place among the others. */
  readonly moved?: true;
  /** The order has no meaning. */
  readonly settled?: true;
}

function sameElement(before: Element | undefined, after: Element | undefined): boolean {
  return before !== undefined && after !== undefined && before.equals(after);
}

function sameKey(before: Element | undefined, after: Element | undefined): boolean {
  return before?.key !== undefined && before.key === after?.key;
}

function costOf(before: Element | undefined, after: Element | undefined, alone = false): number {
  if (before === undefined || after === undefined) return Number.POSITIVE_INFINITY;
  return pairCost(before, after, alone);
}

function reason(
  [left, right]: Pair,
  before: readonly Element[],
  after: readonly Element[],
): PairedBy {
  const [one, other] = [before[left], after[right]];
  if (sameElement(one, other)) return "equal";
  return sameKey(one, other) ? "key" : "similarity";
}

function rest(
  before: readonly Element[],
  after: readonly Element[],
  pairs: readonly Pair[],
): [Element[], Element[]] {
  const [left, right] = [
    new Set(pairs.map(([one]) => one)),
    new Set(pairs.map(([, other]) => other)),
  ];
  return [
    before.filter(({ index }) => !left.has(index)),
    after.filter(({ index }) => !right.has(index)),
  ];
}

/** What was removed in one place and inserted in another: the same element, or one with the same key, that moved. */
function movedPairs(
  before: readonly Element[],
  after: readonly Element[],
  pairs: readonly Pair[],
): Paired[] {
  const [left, right] = rest(before, after, pairs);
  const equal = equalPairs(left, right);
  const [openLeft, openRight] = rest(left, right, equal);
  const moved = (found: readonly Pair[], by: PairedBy): Paired[] =>
    found.map((pair) => ({ pair, by, moved: true }));
  return [...moved(equal, "equal"), ...moved(keyPairs(openLeft, openRight), "key")];
}

function keyPairs(before: readonly Element[], after: readonly Element[]): Pair[] {
  const byKey = new Map(after.map((element) => [element.key, element]));
  return before.flatMap((element): Pair[] => {
    const other = element.key === undefined ? undefined : byKey.get(element.key);
    return other === undefined ? [] : [[element.index, other.index]];
  });
}

/** Equal elements in the order of the list, found by their leaves and not by comparing all with all. */
function equalPairs(before: readonly Element[], after: readonly Element[]): Pair[] {
  if (before.length === 0 || after.length === 0) return [];
  const byContent = groupBy(after, ({ leaves }) => leaves.content);
  return before.flatMap((element): Pair[] => {
    const candidates = byContent.get(element.leaves.content) ?? [];
    const position = candidates.findIndex((other) => other.value.rawEquals(element.value));
    const [found] = position === -1 ? [] : candidates.splice(position, 1);
    return found === undefined ? [] : [[element.index, found.index]];
  });
}

/** The elements in the order after, with what was removed before the element that followed it. */
function itemsOf(
  before: readonly Element[],
  after: readonly Element[],
  pairs: readonly Paired[],
  compare: (before: Element, after: Element) => ValueDiff,
): ItemDiff[] {
  const byAfter = new Map(pairs.map((paired) => [paired.pair[1], paired]));
  const paired = new Set(pairs.map(({ pair }) => pair[0]));
  const items: ItemDiff[] = [];
  let next = 0;
  const removeUntil = (end: number): void => {
    for (; next < end; next++) {
      const element = before[next];
      if (element === undefined || paired.has(next)) continue;
      items.push({ diff: { kind: "remove", value: element.value }, beforeIndex: next });
    }
  };
  for (const element of after) {
    const found = byAfter.get(element.index);
    const was = found === undefined ? undefined : before[found.pair[0]];
    if (found === undefined || was === undefined) {
      items.push({ diff: { kind: "add", value: element.value }, afterIndex: element.index });
      continue;
    }
    if (found.moved === undefined && found.settled === undefined) removeUntil(was.index);
    items.push({
      diff: compare(was, element),
      beforeIndex: was.index,
      afterIndex: element.index,
      ...(found.moved !== undefined && { moved: true as const }),
      pairedBy: found.by,
    });
  }
  removeUntil(before.length);
  return items;
}

/** The object or array that a string holds as JSON; undefined for any other text, and where a name counts twice in it. */
function documentIn(text: string): Value | undefined {
  if (!/^\s*(?:\{\s*["}]|\[\s*[[{"])/.test(text)) return undefined;
  try {
    const value = decodeJsonImplied(text);
    return repeatsName(text) ? undefined : value;
  } catch {
    return undefined;
  }
}
