import { createHash } from "node:crypto";
import { possibleNames } from "./token-name.ts";

/**
 * What a component is called in its program, as in the configuration: `b` for `lab_binder.b`. One that has a key or is in a module is
 * called `a-b-0-1f3c9a2b` for `module.a.lab_binder.b[0]`, with the beginning of the digest of its address, as `a-b-0` may be the name
 * of another.
 */
export function componentName(token: string, address: string): string {
  const steps = [...address.matchAll(/([\w-]+)|\[(?:"((?:[^"\\]|\\.)*)"|(\d+))\]/g)].map(
    ([, word, key, index]) => word ?? key ?? index ?? "",
  );
  const names = steps.filter((step, at) => step !== "module" || steps[at - 1] === "module");
  // The type stands before the name of the resource; keys may follow.
  const type = names.findIndex((step) => possibleNames(token).includes(step));
  const own = names.filter((_step, at) => at !== type);
  const text = own.join("-").replaceAll(/[^\w-]+/g, "-");
  if (own.length === 1 && address.endsWith(`.${text}`)) return text;
  return `${text}-${createHash("sha256").update(address).digest("hex").slice(0, 8)}`;
}
