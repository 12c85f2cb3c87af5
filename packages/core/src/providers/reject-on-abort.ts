import type { LifecycleContext, LifecycleProvider } from "@stackwright/mux/router";

/**
 * The same provider, whose calls reject as soon as their signal aborts. A provider in this process may never answer and
 * ignore the signal as well. A later answer is dropped.
 */
export function rejectOnAbort(provider: LifecycleProvider): LifecycleProvider {
  return new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "close" || typeof name === "symbol") {
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      }
      return async (...given: readonly unknown[]): Promise<unknown> => {
        const { signal } = (given.at(-1) ?? {}) as LifecycleContext;
        signal?.throwIfAborted();
        const answer = Reflect.apply(member, target, given) as Promise<unknown>;
        return signal === undefined ? answer : beforeAbort(answer, signal);
      };
    },
  });
}

async function beforeAbort<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
