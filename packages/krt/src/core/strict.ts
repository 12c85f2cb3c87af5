import type { Entry } from "./entry.ts";
import type { AnyNode } from "./node.ts";

/** One run of a transformation that can be made again. */
export interface StrictRun<I, R> {
  readonly node: AnyNode;
  readonly entry: Entry;
  readonly input: I;
  transform(input: I): R;
}

/** Checks of the constraints that transformations are under. Absent where strict mode is off. */
export interface StrictMode {
  /** A collection is read while a transformation is on the stack. Throws. */
  untrackedRead(node: AnyNode): never;
  /** Runs a transformation under observation and returns what it returned. */
  execute<I, R>(run: StrictRun<I, R>): R;
  /** What a fetch gives to a transformation. */
  given<T>(value: T): T;
  /** An object comes into a collection. */
  stored(value: unknown): void;
  /** A list that several readers share, or an event that several handlers do. */
  shared<T extends object>(value: T): T;
  /** A result was compared with the present output and found equal, or not. */
  compared(node: AnyNode, key: string, former: unknown, now: unknown, equal: boolean): void;
  /** A view made `shown` of the object with this key. Throws when it has another key. */
  checkViewKey(node: AnyNode, key: string, shown: unknown): void;
  /** Two members of an unchecked join have this key. */
  overlap(node: AnyNode, key: string): void;
}
