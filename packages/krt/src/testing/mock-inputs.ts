import type { InputCollection } from "../collection.ts";
import type { Kind, KindCapability } from "../kind.ts";
import type { Scope } from "../scope.ts";

/** A bag of objects of several types, handed out type by type. */
export interface MockInputs extends Disposable {
  /** A source with the objects that `is` recognises. Each object goes to the first that asks for it. */
  collection<T, Tr extends KindCapability = never>(
    is: (object: unknown) => object is T,
    kind: Kind<T, Tr>,
  ): InputCollection<T, Tr>;
  /** Throws, naming them, when there are objects that nobody asked for. Called at the end of a `using` block. */
  verify(): void;
}

/** Splits a bag of test objects over sources, so that a test lists its inputs in one place. */
export function mockInputs(scope: Scope, objects: readonly unknown[]): MockInputs {
  let rest = [...objects];
  const verify = (): void => {
    if (rest.length === 0) return;
    const names = rest.map((object) => JSON.stringify(object)).join(", ");
    throw new Error(`nothing asked for ${rest.length} of the test's inputs: ${names}`);
  };
  return {
    collection: (is, kind) => {
      const own = rest.filter(is);
      rest = rest.filter((object) => !is(object));
      return scope.source(own, { kind });
    },
    verify,
    [Symbol.dispose]: verify,
  };
}
