import { readFileSync } from "node:fs";
import process from "node:process";

// Loaded before a program (`node --import`): its wall clock is off by the milliseconds in the file that SHIFTED_CLOCK names, also while it runs.
// Monotonic time is as it is, as where an administrator or the time service sets the clock of a machine.

const FILE = process.env["SHIFTED_CLOCK"] ?? "";
/** How long what the file says is taken for true. */
const FRESH_MS = 20;

const realNow = Date.now;
let readAt = Number.NEGATIVE_INFINITY;
let shift = 0;

function shiftMs(): number {
  const now = performance.now();
  if (now - readAt > FRESH_MS) {
    readAt = now;
    shift = Number(readFileSync(FILE, "utf8"));
  }
  return shift;
}

Date.now = () => realNow() + shiftMs();
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget) as Date,
  apply: (target) => new target(target.now()).toString(),
});
