import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { Workspace } from "../index/workspace.ts";
import { FolderChecks } from "./folder-checks.ts";

it("gives a provider that does not answer up, and checks other folders then", async () => {
  const clock = createManualClock();
  await using a = await mkdtempDisposable(join(tmpdir(), "folder-a-"));
  await using b = await mkdtempDisposable(join(tmpdir(), "folder-b-"));
  const errors: unknown[] = [];
  const asked: string[] = [];
  const workspace = new Workspace();
  await using checks = new FolderChecks({
    clock,
    host: {
      validate: async (folder, signal) => {
        asked.push(folder);
        if (folder === b.path) return [];
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
      },
    },
    context: () => ({ workspace, schemas: new Map() }),
    publish: () => undefined,
    onSchemas: async () => undefined,
    onError: (error) => errors.push(error),
  });
  for (const path of [join(a.path, "main.tf"), join(b.path, "main.tf")]) {
    checks.changed(path);
    checks.saved(path, true);
  }
  await expect.poll(() => asked).toEqual([a.path]);
  await clock.advance(60_000);
  await expect.poll(() => asked).toEqual([a.path, b.path]);
  expect(errors.map(String)).toEqual(["Error: the providers did not answer in time"]);
});
