import type { AnyNode } from "../core/node.ts";
import type { StrictMode, StrictRun } from "../core/strict.ts";
import { firstDifference, ignoresFields, visibleEqual } from "../equality.ts";
import { KrtError, type KrtErrorDetails } from "../errors.ts";
import { shapeKind } from "../kind.ts";
import { withoutAmbient } from "./ambient.ts";
import { Freezer, frozenProperty, pathTo } from "./freeze.ts";

/**
 * Checks the constraints of transformations. A violation that is detected where it happens is thrown there and
 * fails the run; what shows only afterwards is reported. With `full` each transformation runs
 * twice, on frozen inputs, without a clock, randomness, timers and network.
 */
export class Strict implements StrictMode {
  readonly #full: boolean;
  readonly #report: (error: KrtError) => void;
  readonly #freezer = new Freezer();

  constructor(full: boolean, report: (error: KrtError) => void) {
    this.#full = full;
    this.#report = report;
  }

  untrackedRead(node: AnyNode): never {
    const { entry } = node.graph.tracker;
    const reader = entry === undefined ? "a transformation" : entry.node.name;
    throw new KrtError("KRT_STRICT_READ", `${node.name} was read without fetch in ${reader}`, {
      details: { collection: node.name },
    });
  }

  execute<I, R>(run: StrictRun<I, R>): R {
    if (!this.#full) return run.transform(run.input);
    const { tracker } = run.node.graph;
    const given = this.#freezer.freeze(run.input);
    const first = materialize(this.#observed(run, given));
    // Collections made by the run differ from run to run by nature.
    if (tracker.madeScope) return first;
    const fetched = tracker.fetched();
    tracker.begin(run.entry);
    const second = materialize(this.#observed(run, given));
    this.#compare(run, first, second);
    const again = tracker.fetched();
    if (fetched.length !== again.length || fetched.some((query, i) => query !== again[i])) {
      this.#violation(run, "KRT_STRICT_RESULT", "fetches differ between two runs on equal inputs");
    }
    return second;
  }

  #observed<I, R>(run: StrictRun<I, R>, given: I): R {
    const { key } = run.entry.input;
    try {
      return withoutAmbient(`${run.node.name}, input ${JSON.stringify(key)}`, () =>
        run.transform(given),
      );
    } catch (error) {
      const property = frozenProperty(error);
      if (property === undefined) throw error;
      const path = this.#locate(run, given, property);
      throw new KrtError("KRT_STRICT_MUTATION", `an input was changed at ${path}`, {
        details: { property: path },
        cause: error,
      });
    }
  }

  /** The path of a property in the input, or in what was fetched, which begins with the collection. */
  #locate<I, R>(run: StrictRun<I, R>, given: I, property: string): string {
    const path = pathTo(given, property);
    if (path !== undefined) return path;
    for (const query of run.node.graph.tracker.fetched()) {
      for (const object of query.read()) {
        const inner = pathTo(object, property);
        if (inner !== undefined) return `${query.source.name}.${inner}`;
      }
    }
    return property;
  }

  #compare<I, R>(run: StrictRun<I, R>, first: R, second: R): void {
    const property = firstDifference(first, second);
    if (property === undefined) return;
    const where = property === "" ? "" : ` at ${property}`;
    this.#violation(run, "KRT_STRICT_RESULT", `results differ${where} between two runs`, property);
  }

  #violation<I, R>(
    { node, entry }: StrictRun<I, R>,
    code: "KRT_STRICT_RESULT",
    text: string,
    property?: string,
  ): void {
    const { key } = entry.input;
    const details: KrtErrorDetails = {
      collection: node.name,
      key,
      ...(property !== undefined && { property }),
    };
    this.#report(
      new KrtError(code, `${text} (${node.name}, input ${JSON.stringify(key)})`, { details }),
    );
  }

  given<T>(value: T): T {
    if (this.#full) return this.#freezer.freeze(value);
    return Array.isArray(value) ? Object.freeze(value) : value;
  }

  stored(value: unknown): void {
    if (this.#full) this.#freezer.freeze(value);
  }

  shared<T extends object>(value: T): T {
    return Object.freeze(value) as T;
  }

  compared(node: AnyNode, key: string, former: unknown, now: unknown, equal: boolean): void {
    if (!this.#full || ignoresFields(node.kind.equals)) return;
    const same = visibleEqual(former, now);
    if (equal && !same) {
      const property = firstDifference(former, now) ?? "";
      this.#report(
        new KrtError(
          "KRT_STRICT_EQUALITY",
          `the equality of ${node.name} does not see a difference at ${property} (key ${key})`,
          { details: { collection: node.name, key, property } },
        ),
      );
    } else if (!equal && same) {
      node.graph.options.onWarning?.({ type: "churn", collection: node.name, key });
    }
  }

  checkViewKey(node: AnyNode, key: string, shown: unknown): void {
    let found: string;
    try {
      found = (node.kind ?? shapeKind()).key(shown);
    } catch {
      // A projection need not have a key: it stands under that of its object.
      return;
    }
    if (found === key) return;
    throw new KrtError("KRT_VIEW_KEY", `view ${node.name} changed the key ${key} to ${found}`, {
      details: { collection: node.name, key, inputs: [key, found] },
    });
  }

  overlap(node: AnyNode, key: string): void {
    this.#report(
      new KrtError("KRT_OVERLAP", `members of ${node.name} both have the key ${key}`, {
        details: { collection: node.name, key },
      }),
    );
  }
}

/** Generators can be read once; two runs are to be compared, and the result is still to be used. */
function materialize<R>(result: R): R {
  if (typeof result !== "object" || result === null) return result;
  if (isGenerator(result)) return [...result] as R;
  const { output } = result as { output?: unknown };
  if (isGenerator(output)) return { ...result, output: [...output] };
  return result;
}

function isGenerator(value: unknown): value is Iterable<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.iterator in value &&
    typeof (value as { next?: unknown }).next === "function"
  );
}
