import type { StorageBackend } from "@stackwright/storage";

const WRITES: ReadonlySet<string | symbol> = new Set(["batch", "writeCAS", "deleteCAS"]);

/** A store of a server that stops at one of its writes, which are counted from 1: before it is done, or before its answer comes. */
export function stoppingAt(
  inner: StorageBackend,
  at: number,
  when: "before" | "after",
): StorageBackend {
  let writes = 0;
  return new Proxy(inner, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      if (!WRITES.has(key)) return member.bind(target);
      return async (...args: unknown[]): Promise<unknown> => {
        writes += 1;
        if (writes > at || (writes === at && when === "before")) throw new Error("it stopped");
        const answer: unknown = await member.apply(target, args);
        if (writes === at) throw new Error("it stopped");
        return answer;
      };
    },
  });
}
