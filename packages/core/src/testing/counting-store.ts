import type { StorageBackend } from "@stackwright/storage";

/** How often a store was asked, by `method` or by `method kind`. */
export interface StoreCalls {
  readonly counts: Map<string, number>;
  /** Of one kind, such as `list StateObject`. */
  of(method: string, kind: string): number;
  clear(): void;
}

/** The same store, counting what it is asked for. */
export function countingStore(storage: StorageBackend): {
  readonly storage: StorageBackend;
  readonly calls: StoreCalls;
} {
  const counts = new Map<string, number>();
  const count = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  const counted = new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        count(String(name));
        if (name === "list" || name === "read") count(`${name} ${kindOf(args[1])}`);
        return Reflect.apply(member, target, args);
      };
    },
  });
  return {
    storage: counted,
    calls: {
      counts,
      of: (method, kind) => counts.get(`${method} ${kind}`) ?? 0,
      clear: () => counts.clear(),
    },
  };
}

/** `list` is given a type, `read` the name of a resource, which has one. */
function kindOf(asked: unknown): string {
  const { type, kind } = asked as { readonly type?: { readonly kind: string }; kind?: string };
  return type?.kind ?? kind ?? "";
}
