import { spawn } from "node:child_process";
import process from "node:process";
import { systemClock } from "@stackwright/base/clock";
import { expect, it, onTestFinished } from "vitest";
import { watchGroupMemory } from "./group-memory.ts";

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
    const bound = { group: startFamily(400 * MIB), maxBytes: 300 * MIB };
    void watchGroupMemory(bound, systemClock, late, () => resolve("exceeded"));
  });
  over.abort();
  expect(outcome).toBe("exceeded");
});

it("counts no process beside those of the group and their children", async () => {
  const held = Buffer.alloc(400 * MIB, 1);
  const over = AbortSignal.timeout(3_000);
  const outcomes: string[] = [];
  const bound = { group: startFamily(1), maxBytes: 300 * MIB };
  await watchGroupMemory(bound, systemClock, over, () => outcomes.push("exceeded"));
  expect([outcomes, held[0]]).toEqual([[], 1]);
});
