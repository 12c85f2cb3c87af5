import { spawnSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/policies.md as a reader follows it: its commands as they are written there, with another port.

const PAGE = "apps/engine/docs/policies.md";
const OPA = process.env["TEST_TOOL_OPA"];

it("the page about policies leads from a first policy over an overridden plan to another version", {
  timeout: 300_000,
}, async (context) => {
  for (const [program, word] of [
    [OPA ?? "opa", "version"],
    ["curl", "--version"],
    ["jq", "--version"],
  ] as const) {
    context.skip(spawnSync(program, [word]).status !== 0, `${program} cannot be run here`);
  }
  const page = await createPageFolder({ NO_COLOR: "1" });
  const { folder, shell } = page;
  if (OPA !== undefined) await symlink(resolve(OPA), join(folder, "bin/opa"));
  const [serve = "", ...rest] = await pageBlocks(PAGE, "sh");
  const [policy = "", ...policies] = await pageBlocks(PAGE, "rego");
  expect([rest.length, policies.length]).toEqual([6, 0]);
  const { here } = await startPageServer(serve, page);
  const [publish = "", source = "", request = "", override = "", again = "", change = ""] =
    rest.map(here);

  await writeFile(join(folder, "security.rego"), policy);
  await mkdir(join(folder, "shop"));
  await writeFile(join(folder, "shop/main.tf"), 'resource "terraform_data" "a" { input = 1 }\n');
  await shell("stackwright plan --out plan.out", join(folder, "shop"));
  await shell("stackwright show --json plan.out > ../plan.json", join(folder, "shop"));
  const published = await shell(publish);
  expect(published).toContain("security: passed\n  warning: nothing says what the run is for");
  expect(await shell(source)).toContain("Uploaded version");
  expect(await shell(request)).toContain('{"outcome":"passed"');

  const overridden = await shell(override);
  expect(overridden).toContain(
    "security (overridable): failed\n  objects are not destroyed (terraform_data.a)",
  );
  expect(overridden).toMatch(/Passed in spite of policies, .*: the shop moves/);
  expect(overridden).toMatch(/Run 2 is applied, revision \d+\./);

  const [make = "", destroy = ""] = override.split("\n");
  const [variables = ""] = request.split("\n");
  const results = await shell([make, destroy, variables, again].join("\n"));
  expect(results).toContain('"block":"overridable"');
  expect(results).toContain('"phase":"awaiting_approval"');

  await writeFile(join(folder, "security.rego"), policy.replace("not destroyed", "kept"));
  const replayed = await shell(change);
  expect(replayed).toMatch(/before: failed[^]*objects are kept/);
});
