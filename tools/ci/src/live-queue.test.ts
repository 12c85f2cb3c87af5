import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LiveQueue } from "./live-queue.ts";

it("gives each file to one of those that ask, in the order of the queue", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "queue-"));
  const first = LiveQueue.create(join(folder.path, "live"), ["a", "b", "c", "d"]);
  const second = new LiveQueue(join(folder.path, "live"));
  expect([first.take(), second.take(), first.take()]).toEqual(["a", "b", "c"]);
  expect(second.takeRest()).toEqual(["d"]);
  expect([first.take(), second.take(), ...first.takeRest()]).toEqual([undefined, undefined]);
});
