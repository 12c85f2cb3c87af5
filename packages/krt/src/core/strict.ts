import type { AnyNode } from "./node.ts";

/** Checks of the constraints that transformations are under. Absent where strict mode is off. */
export interface StrictMode {
  /** A collection is read while a transformation is on the stack. Throws. */
  untrackedRead(node: AnyNode): void;
  /** Runs a transformation under observation and returns what it returned. */
  execute<I, R>(node: AnyNode, input: I, transform: (input: I) => R): R;
  /** A view made `shown` of the object with this key. Throws when it has another key. */
  checkViewKey(node: AnyNode, key: string, shown: unknown): void;
  /** Two members of an unchecked join have this key. */
  overlap(node: AnyNode, key: string): void;
}
