import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { folderWith, RESOURCE, STATE } from "../testing/adoption-folder.ts";

it("adopts root modules into one embedded store, and repeats only what is left", {
  timeout: 60_000,
}, async () => {
  const names = Array.from({ length: 8 }, (_, index) => `stacks/s${index}`);
  const files = Object.fromEntries(
    names.flatMap((name, index) => [
      [`${name}/main.tf`, name === "stacks/s3" ? RESOURCE.replace("1", "2") : RESOURCE],
      // Each has a lineage of its own.
      [`${name}/terraform.tfstate`, STATE.replace("11111111", String(10_000_000 + index))],
    ]),
  );
  const { run, path } = await folderWith(files);
  const shared = { STACKWRIGHT_STORE: "sqlite:shared" };
  const refused = await run(["adopt", "--all", "--yes", "stacks"], shared);
  expect(refused.error).toContain("export STACKWRIGHT_KEY_FILE=");
  expect([refused.code, existsSync(path("shared"))]).toEqual([1, false]);
  const env = { ...shared, STACKWRIGHT_KEY: "11".repeat(32) };
  const one = await run(["adopt", "--all", "--yes", "--json", "stacks"], env);
  expect(JSON.parse(one.output)).toMatchObject({ summary: { adopted: 7, changes: 1, failed: 0 } });
  expect(one.code).toBe(2);
  const two = await run(["adopt", "--all", "--yes", "--json", "--accept-changes", "stacks"], env);
  expect(JSON.parse(two.output)).toMatchObject({ summary: { adopted: 1, already: 7 } });
  expect(two.code).toBe(0);
  expect(existsSync(path("shared"))).toBe(true);
  const { output } = await run(["stacks", "--json"], env);
  expect(JSON.parse(output)).toHaveLength(8);
});
