import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import { readCloudFolder } from "./folder-cloud.ts";
import { killAtMoments, MOMENTS_TIMEOUT_MS } from "./kill-at-moments.ts";
import { runToKill } from "./run-to-kill.ts";

const PROGRAM = join(import.meta.dirname, "engine-program.ts");

describe("an apply that is killed", { retry: 0 }, () => {
  test(
    "is finished by the next run, or what is not known is named",
    async ({ annotate }: TestContext) => {
      const folder = await mkdtemp(join(tmpdir(), "kill-"));
      try {
        await killAtMoments(
          {
            run: async (number, mode, killAfterMs) =>
              runToKill(PROGRAM, [folder, String(number), mode], killAfterMs),
            objects: () =>
              readCloudFolder(join(folder, "cloud")).map(({ id, value }) => ({
                id,
                name: new Map(value.entries()).get("name")?.asString() ?? "",
              })),
            killWithinMs: 250,
          },
          annotate,
        );
        const calls = (await readFile(join(folder, "cloud", "calls"), "utf8")).split("\n");
        expect(calls.filter((line) => line.startsWith("create")).length).toBeGreaterThan(5);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    MOMENTS_TIMEOUT_MS,
  );
});
