import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/hooks.md as a reader follows it: its files and commands as they are written there, with another port, and a scanner and a
// health check of this machine.

const PAGE = "apps/engine/docs/hooks.md";
const SCANNER = `#!/bin/sh
test "$1 $2" = "--quiet --file" || exit 2
if grep -q public-read "$3"; then echo "buckets are private"; exit 1; fi
`;
const MAIN = 'resource "terraform_data" "bucket" { input = "private" }\n';

it("the page about hooks leads to runs that a scanner and a health check follow", {
  timeout: 180_000,
}, async (context) => {
  const hasCurl = spawnSync("curl", ["--version"]).status === 0;
  context.skip(!hasCurl, "a hook of the page needs curl, which is not installed");
  const page = await createPageFolder();
  const { folder, shell } = page;
  const [serve = "", set = "", ...blocks] = await pageBlocks(PAGE, "sh");
  const [project = "", stack = "", ...files] = await pageBlocks(PAGE, "json");
  expect([blocks.length, files.length]).toEqual([0, 0]);
  await writeFile(join(folder, "bin/checkov"), SCANNER, { mode: 0o755 });
  const { url, here } = await startPageServer(serve, page);

  await mkdir(join(folder, "network"));
  await writeFile(join(folder, "network/main.tf"), MAIN);
  expect(project).toContain("https://example.com/healthz");
  await writeFile(
    join(folder, "hooks.json"),
    project.replace("https://example.com/healthz", `${url}/no-health`),
  );
  await writeFile(join(folder, "network.json"), stack);
  const output = await shell(here(set));
  expect(output).toContain(
    'hook smoke-test: the hook "smoke-test" (after_apply) ended with code 22',
  );
  expect(output).toMatch(/Run 1 is applied, revision \d+\./);
  expect(output).toContain("smoke-test: after_apply, at most 60 s, only warns: curl --fail");
  expect(output).toContain("versions: before_plan, at most 300 s, only warns: grep -rn version .");

  const start = "stackwright runs start network --stack web/network --yes";
  expect(set).toContain(`${start}\n`);
  await writeFile(
    join(folder, "network/main.tf"),
    `terraform {\n  required_version = ">= 1.0"\n}\n${MAIN.replace("private", "public-read")}`,
  );
  const refused = await shell(`${start} || test $? = 1`);
  expect(refused).toContain("hook versions: ./main.tf:2:  required_version");
  expect(refused).toContain("hook scan: buckets are private");
  expect(refused).toContain('Run 2 failed: the hook "scan" (after_plan) ended with code 1.');
});
