import type { StorageBackend } from "@stackwright/storage";

type Batch = StorageBackend["batch"];

/** A store whose batches a test delays, refuses, or answers wrongly. */
export function overBatches<S extends StorageBackend>(
  inner: S,
  over: (operations: Parameters<Batch>[0], write: () => ReturnType<Batch>) => ReturnType<Batch>,
): S {
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === "batch") {
        return async (...args: Parameters<Batch>) =>
          over(args[0], async () => target.batch(...args));
      }
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
