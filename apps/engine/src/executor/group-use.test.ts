import { spawn } from "node:child_process";
import process from "node:process";
import { systemClock } from "@stackwright/base/clock";
import { expect, it, onTestFinished } from "vitest";
import { watchGroup } from "./group-use.ts";

const MIB = 1024 * 1024;

/** A process that leads a group, with a child that has so much memory; as a provider, the child has a group of its own. */
function startFamily(bytes: number): number {
  const holder = `const held = Buffer.alloc(${bytes}, 1); process.stdin.resume().on("end", () => process.exit(held[0]));`;
  const leader = `
    const { spawn } = require("node:child_process");
    spawn(process.execPath, ["-e", ${JSON.stringify(holder)}], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["-e", leader], { detached: true, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child.pid ?? 0;
}

it("counts what providers have, whose groups are their own", { timeout: 60_000 }, async () => {
  const over = new AbortController();
  const late = AbortSignal.any([over.signal, AbortSignal.timeout(40_000)]);
  const outcome = await new Promise<string>((resolve) => {
    late.addEventListener("abort", () => resolve("not exceeded"), { once: true });
    const bounds = { maxMemoryBytes: 300 * MIB };
    void watchGroup(startFamily(400 * MIB), bounds, systemClock, late, resolve);
  });
  over.abort();
  expect(outcome).toBe("memory");
});

it("counts no process beside those of the group and their children", async () => {
  const held = Buffer.alloc(400 * MIB, 1);
  const over = AbortSignal.timeout(3_000);
  const outcomes: string[] = [];
  const bounds = { maxMemoryBytes: 300 * MIB };
  await watchGroup(startFamily(1), bounds, systemClock, over, (what) => outcomes.push(what));
  expect([outcomes, held[0]]).toEqual([[], 1]);
});

/** A process that leads a group, and that starts others one after the other, each of which computes for 0.3 s. */
function startBusyFamily(): number {
  // At most that long, and nothing in the system: none of them has used what the group may.
  const busy = "const until = Date.now() + 300; while (Date.now() < until);";
  const leader = `
    const { spawn } = require("node:child_process");
    const next = () => spawn(process.execPath, ["-e", ${JSON.stringify(busy)}]).once("exit", next);
    next();`;
  const child = spawn(process.execPath, ["-e", leader], { detached: true, stdio: "ignore" });
  onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGKILL"));
  return child.pid ?? 0;
}

it("counts the processor time of processes that ended", { timeout: 60_000 }, async () => {
  const over = AbortSignal.timeout(40_000);
  const outcome = await new Promise<string>((resolve) => {
    over.addEventListener("abort", () => resolve("not exceeded"), { once: true });
    const bounds = { maxMemoryBytes: 1024 * MIB, maxProcessorMs: 2_000 };
    void watchGroup(startBusyFamily(), bounds, systemClock, over, resolve);
  });
  expect(outcome).toBe("processor");
});

it("ends nothing that waits, however long it has run", async () => {
  const over = AbortSignal.timeout(3_000);
  const outcomes: string[] = [];
  const bounds = { maxProcessorMs: 2_000 };
  await watchGroup(startFamily(1), bounds, systemClock, over, (what) => outcomes.push(what));
  expect(outcomes).toEqual([]);
});
