import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { SmallDisk } from "@stackwright/storage/testing";
import { expect, it, onTestFinished } from "vitest";
import { startPlatform } from "../testing/start-platform.ts";

// `stackwright serve` as users start it, with its store, keys and runs on a disk that fills up while a run is under way.

const KIB = 1024;

it("a server whose store and runs are on a full disk stays, refuses runs, and loses no object of one under way", {
  retry: 0,
  timeout: 300_000,
}, async ({ skip }) => {
  const lab = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
  skip(lab === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const disk = SmallDisk.mount(24);
  if (disk === undefined) {
    skip("no right to mount a tmpfs");
    return;
  }
  onTestFinished(() => disk[Symbol.dispose]());
  const platform = await startPlatform({ directory: disk.path });
  expect(await platform.run("s", 0)).toBe("applied");
  const run = await platform.request("s", 1);
  await platform.applying("s", run);
  disk.fill(8 * KIB);
  const refused = await platform.request("t", 0).then(
    () => "",
    (error: unknown) => String(error),
  );
  expect(refused).toMatch(/no space is left/i);
  // Longer than what the run had left to do.
  await delay(2_000);
  expect(await platform.isAlive()).toBe(true);
  expect(platform.said()).toContain(`no space is left for the store ${join(disk.path, "data")}`);
  disk.free();
  await platform.ended("s", run);
  let phase = await platform.run("s", 1);
  for (let more = 0; more < 3 && !/^(?:applied|no_changes)$/.test(phase); more += 1) {
    phase = await platform.run("s", 1);
  }
  const open = await platform.openCreates("s");
  const objects = await platform.records();
  const names = objects.map(({ name }) => name);
  expect(new Set(names).size, names.join()).toBe(names.length);
  const ids = objects.map(({ id }) => id);
  const recorded = await platform.recorded("s");
  expect(recorded.filter((id) => !ids.includes(id))).toEqual([]);
  expect(ids.filter((id) => !recorded.includes(id)).length).toBeLessThanOrEqual(open.length);
  if (open.length === 0) expect(phase).toMatch(/^(?:applied|no_changes)$/);
});
