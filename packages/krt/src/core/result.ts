import { KrtError } from "../errors.ts";

/** Refuses a promise as the result of a function that must be synchronous, and takes care of its rejection. */
export function refusePromise(result: unknown, what = "a transformation"): void {
  if (typeof result !== "object" || result === null) return;
  const { then } = result as { then?: unknown };
  if (typeof then !== "function") return;
  (result as PromiseLike<unknown>).then(undefined, () => {});
  throw new KrtError("KRT_ASYNC", `${what} must be synchronous, but returned a promise`);
}
