import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// docs/runs.md as a reader follows it: its commands as they are written there, with another port.

const PAGE = "apps/cli/docs/runs.md";

it("the page about runs leads from a login to a run that is requested again", {
  timeout: 240_000,
}, async () => {
  const page = await createPageFolder();
  const { folder, shell } = page;
  await mkdir(join(folder, "network"));
  await writeFile(join(folder, "network/main.tf"), 'resource "terraform_data" "a" { input = 1 }\n');

  const [serve = "", ...others] = await pageBlocks(PAGE, "sh");
  expect(others).toHaveLength(5);
  const { here } = await startPageServer(serve, page);
  const stdout = await shell(here(others.join("\n")));
  expect(stdout).toContain("Created the stack web/network.");
  expect(stdout).toContain("Run 1 waits for approval.");
  expect(stdout).toContain("Approved by");
  expect(stdout).toMatch(/Run 1 is applied, revision \d+\./);
  expect(stdout).toContain("Run 2 has no changes");
  expect(stdout).toMatch(/^3 {2}no_changes {2}plan_only/m);
  expect(stdout).toContain("Run 4 is discarded.");
  expect(stdout).toContain("Run 5 has no changes");
  expect(stdout).toContain('region = "south"  # set enforced, before stack, set shared\n');
  expect(stdout).toContain("env TOKEN = (sensitive)  # set shared\n");
  expect(stdout).toContain("enforced: net*, priority, 1 variable\n");
  expect(stdout).not.toContain("s3cret");
  expect(stdout).toContain('The project "web" is frozen until ');
  expect(stdout).toContain('The project "web" is not frozen.');
  const events = (await readFile(join(folder, "events.jsonl"), "utf8")).trim().split("\n");
  expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ type: "run", run: { number: 3 } });
});
