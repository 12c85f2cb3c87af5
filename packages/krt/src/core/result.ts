import { KrtError } from "../errors.ts";

/** Refuses a promise as the result of a transformation, and takes care of its rejection. */
export function refusePromise(result: unknown): void {
  if (typeof result !== "object" || result === null) return;
  const { then } = result as { then?: unknown };
  if (typeof then !== "function") return;
  (result as PromiseLike<unknown>).then(undefined, () => {});
  throw new KrtError("KRT_ASYNC", "a transformation must be synchronous, but returned a promise");
}
