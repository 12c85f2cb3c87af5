import { KrtError } from "../errors.ts";

/** Members of global objects whose result may differ from run to run, or that act later. */
const GUARDED: readonly (readonly [owner: string | undefined, name: string])[] = [
  ["Math", "random"],
  ["performance", "now"],
  ["crypto", "randomUUID"],
  ["crypto", "getRandomValues"],
  ["process", "hrtime"],
  ["process", "nextTick"],
  [undefined, "setTimeout"],
  [undefined, "setInterval"],
  [undefined, "setImmediate"],
  [undefined, "queueMicrotask"],
  [undefined, "fetch"],
];

/**
 * Runs `run` with the clock, randomness, timers and network of the global object replaced by functions
 * that throw `KRT_STRICT_AMBIENT`, and puts everything back. Only what is reached through the global
 * object is seen: a module that keeps a reference of its own goes unnoticed.
 */
export function withoutAmbient<R>(where: string, run: () => R): R {
  const undo: (() => void)[] = [];
  for (const [ownerName, name] of GUARDED) {
    const owner = ownerName === undefined ? globalThis : memberOf(globalThis, ownerName);
    if (typeof owner !== "object" || owner === null) continue;
    replace(
      owner,
      name,
      refusal(ownerName === undefined ? name : `${ownerName}.${name}`, where),
      undo,
    );
  }
  replace(globalThis, "Date", guardedDate(where), undo);
  try {
    return run();
  } finally {
    for (const restore of undo.reverse()) restore();
  }
}

function memberOf(owner: object, name: string): unknown {
  return (owner as Record<string, unknown>)[name];
}

function replace(owner: object, name: string, value: unknown, undo: (() => void)[]): void {
  if (memberOf(owner, name) === undefined) return;
  const own = Object.getOwnPropertyDescriptor(owner, name);
  if (own?.configurable === false) return;
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  undo.push(() => {
    if (own === undefined) delete (owner as Record<string, unknown>)[name];
    else Object.defineProperty(owner, name, own);
  });
}

function refusal(what: string, where: string): () => never {
  return () => {
    throw new KrtError("KRT_STRICT_AMBIENT", `${what} was used in a transformation (${where})`, {
      details: { property: what },
    });
  };
}

/** Dates made from given parts are fine; the present one is not. */
function guardedDate(where: string): DateConstructor {
  const refuse = refusal("Date.now", where);
  return new Proxy(Date, {
    construct: (target, args) => {
      if (args.length === 0) refuse();
      return Reflect.construct(target, args) as Date;
    },
    apply: refuse,
    get: (target, name, receiver) =>
      name === "now" ? refuse : (Reflect.get(target, name, receiver) as unknown),
  });
}
