import { deepValues, type Path, type Value } from "@stackwright/cty";
import type { SequenceStep } from "./sequence-diff.ts";

/** A step between two sequences of values, in which one element can become another. */
type PairedStep =
  | SequenceStep<Value>
  | {
      readonly kind: "change";
      readonly before: Value;
      readonly after: Value;
      readonly index: number;
    };

/** Pairs that are compared in one run of changes. Longer runs are paired by position. */
const MAX_CELLS = 40_000;

/** Attributes by which an element stays the same element although most of it changes. */
const NAMING = new Set(["sid", "name", "id", "key"]);

/** More than any element has leaves, so that an equal name decides. */
const NAME_WEIGHT = 1_000_000;

/**
 * Joins removed and inserted elements that stand together to elements that changed. Within one run the order stays, and as
 * much as possible agrees inside of the pairs. Elements of which less than half agrees are not joined: one of them is gone and
 * the other new. The exceptions are elements with the same name, the only elements of both sequences, and single changes of
 * elements with one leaf.
 */
export function pairChanges(steps: readonly SequenceStep<Value>[]): PairedStep[] {
  const paired: PairedStep[] = [];
  let removed: Removed[] = [];
  let inserted: Inserted[] = [];
  const alone = steps.length === 2;
  const flush = (): void => {
    paired.push(...pairRun(removed, inserted, alone));
    removed = [];
    inserted = [];
  };
  for (const step of steps) {
    if (step.kind === "remove") removed.push(step);
    else if (step.kind === "insert") inserted.push(step);
    else {
      flush();
      paired.push(step);
    }
  }
  flush();
  return paired;
}

type Removed = Extract<SequenceStep<Value>, { kind: "remove" }>;
type Inserted = Extract<SequenceStep<Value>, { kind: "insert" }>;

function pairRun(
  removed: readonly Removed[],
  inserted: readonly Inserted[],
  alone: boolean,
): PairedStep[] {
  if (removed.length === 0 || inserted.length === 0) return [...removed, ...inserted];
  const steps: PairedStep[] = [];
  let left = 0;
  let right = 0;
  const catchUp = (toLeft: number, toRight: number): void => {
    steps.push(...removed.slice(left, toLeft), ...inserted.slice(right, toRight));
    left = toLeft;
    right = toRight;
  };
  for (const [was, is] of bestPairs(removed, inserted, alone)) {
    catchUp(was, is);
    const [from, to] = [removed[left++], inserted[right++]];
    if (from === undefined || to === undefined) continue;
    steps.push({ kind: "change", before: from.before, after: to.after, index: to.index });
  }
  catchUp(removed.length, inserted.length);
  return steps;
}

type Positions = readonly (readonly [left: number, right: number])[];

function bestPairs(
  removed: readonly Removed[],
  inserted: readonly Inserted[],
  alone: boolean,
): Positions {
  const [rows, columns] = [removed.length, inserted.length];
  if ((rows === 1 && columns === 1 && alone) || rows * columns > MAX_CELLS) {
    return removed.slice(0, columns).map((_, position) => [position, position]);
  }
  const was = removed.map(({ before }) => new Leaves(before));
  const is = inserted.map(({ after }) => new Leaves(after));
  if (rows === 1 && columns === 1 && [...was, ...is].some(({ count }) => count < 2)) {
    return [[0, 0]];
  }
  const width = columns + 1;
  // gains[r * width + c]: what agrees at most in pairs of what begins at row r and column c.
  const gains = new Float64Array((rows + 1) * width);
  const own = new Float64Array(rows * columns);
  const at = (row: number, column: number): number => gains[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const gain = was[row]?.gainWith(is[column]) ?? 0;
      own[row * columns + column] = gain;
      gains[row * width + column] = Math.max(
        at(row + 1, column),
        at(row, column + 1),
        gain > 0 ? at(row + 1, column + 1) + gain : 0,
      );
    }
  }
  const pairs: (readonly [number, number])[] = [];
  let row = 0;
  let column = 0;
  while (row < rows && column < columns) {
    const gain = own[row * columns + column] ?? 0;
    const best = at(row, column);
    if (gain > 0 && best === at(row + 1, column + 1) + gain) pairs.push([row++, column++]);
    else if (best === at(row + 1, column)) row++;
    else column++;
  }
  return pairs;
}

/** The leaves of a value by their places, in which positions in lists and sets do not count. */
class Leaves {
  readonly #texts = new Map<string, string[]>();
  readonly #unknown = new Set<string>();
  readonly #name: string | undefined;
  readonly #kind: string;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  constructor(value: Value) {
    this.#kind = shapeOf(value);
    let name: string | undefined;
    for (const [path, part] of deepValues(value)) {
      const [plain] = part.unmark();
      const place = placeOf(path);
      if (!plain.isKnown) {
        this.#unknown.add(place);
        continue;
      }
      if (plain.isNull || shapeOf(plain) !== "leaf") continue;
      const text = leafText(plain);
      this.#count++;
      const texts = this.#texts.get(place);
      if (texts === undefined) this.#texts.set(place, [text]);
      else texts.push(text);
      if (path.length === 1 && NAMING.has(place.slice(1).toLowerCase())) name ??= place + text;
    }
    this.#name = name;
  }

  /** How much of two elements agrees; 0 where they are not shown as one. */
  gainWith(other: Leaves | undefined): number {
    if (other === undefined || other.#kind !== this.#kind || this.#kind === "leaf") return 0;
    let agreeing = 0;
    for (const [place, texts] of this.#texts) {
      const open = [...(other.#texts.get(place) ?? [])];
      for (const text of texts) {
        const found = open.indexOf(text);
        if (found >= 0) open.splice(found, 1);
        // What is not known yet can be anything.
        else if (!other.#unknown.has(place)) continue;
        agreeing++;
      }
    }
    if (this.#name !== undefined && this.#name === other.#name) return NAME_WEIGHT + agreeing;
    return 2 * agreeing >= Math.max(this.#count, other.#count) ? agreeing : 0;
  }
}

function placeOf({ steps }: Path): string {
  return steps
    .map((step) => {
      if (step.kind === "attribute") return `.${step.name}`;
      const [key] = step.key.unmark();
      return key.isKnown && !key.isNull && key.type.kind === "string" ? `.${key.asString()}` : "[]";
    })
    .join("");
}

function shapeOf({ type }: Value): "mapping" | "sequence" | "leaf" {
  switch (type.kind) {
    case "object":
    case "map":
      return "mapping";
    case "list":
    case "tuple":
    case "set":
      return "sequence";
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
    default:
      return "leaf";
  }
}

function leafText(plain: Value): string {
  switch (plain.type.kind) {
    case "string":
      return `s${plain.asString()}`;
    case "number":
      return `n${plain.asBigFloat().text()}`;
    case "bool":
      return `b${plain.asBoolean()}`;
    case "list":
    case "set":
    case "map":
    case "object":
    case "tuple":
    case "capsule":
    case "dynamic":
    default:
      return plain.type.kind;
  }
}
