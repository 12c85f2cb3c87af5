import { spawnSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/private-modules.md as a reader follows it: its commands as they are written there, with another port, and a repository of this machine.

const PAGE = "apps/engine/docs/private-modules.md";
const REPOSITORY = "git::https://git.example.com/network.git";
const NETWORK = `
resource "terraform_data" "network" { input = "10.0.0.0/16" }
output "cidr" { value = terraform_data.network.output }
`;

it("the page about private modules leads from a folder over a run to a version that is withdrawn", {
  timeout: 240_000,
}, async (context) => {
  for (const [program, word] of [
    ["git", "--version"],
    ["tar", "--version"],
    ["terraform", "version"],
  ] as const) {
    context.skip(spawnSync(program, [word]).status !== 0, `${program} cannot be run here`);
  }
  const page = await createPageFolder({ CHECKPOINT_DISABLE: "1", GIT_CONFIG_NOSYSTEM: "1" });
  const { folder, shell } = page;
  const [serve = "", ...blocks] = await pageBlocks(PAGE, "sh");
  const [call = "", host = "", ...files] = await pageBlocks(PAGE, "hcl");
  expect([blocks.length, files.length]).toEqual([4, 0]);
  const { here } = await startPageServer(serve, page);
  const [publish = "", use = "", run = "", withdraw = ""] = blocks.map(here);

  await mkdir(join(folder, "network"));
  await mkdir(join(folder, "site"));
  await writeFile(join(folder, "network/main.tf"), NETWORK);
  await shell(`
cp -r network repository && cd repository && git init --quiet && git add .
git -c user.name=a -c user.email=a@example.com commit --quiet --message one && git tag v1.2.0
`);
  expect(publish).toContain(REPOSITORY);
  const published = await shell(publish.replace(REPOSITORY, `git::file://${folder}/repository`));
  expect(published).toContain("Published acme/network/aws 1.2.0");
  expect(published.match(/Was published before: acme\/network\/aws 1\.2\.0/g)).toHaveLength(2);
  expect(published).toContain("output cidr");

  await writeFile(join(folder, "site/main.tf"), call);
  await writeFile(join(folder, "trial.tfrc"), here(host));
  const used = await shell(use);
  expect(used).toContain("Downloading stackwright.example/acme/network/aws 1.2.0 for network");
  expect(used).toContain("module.network.terraform_data.network will be created");
  const applied = await shell(run);
  expect(applied).toContain(
    "Fetched module.network from stackwright.example/acme/network/aws 1.2.0",
  );
  expect(applied).toMatch(/Run 1 is applied, revision \d+\./);

  const [variables = ""] = use.split("\n");
  const init = `${variables}\nstackwright --chdir site init 2>&1 || true`;
  await shell(withdraw);
  // What was installed before is kept for this user.
  await rm(join(folder, ".cache"), { recursive: true, force: true });
  expect(await shell(init)).toContain("opens port 22");
  await rm(join(folder, "site/.stackwright.modules.lock.hcl"));
  expect(await shell(init)).toContain("has no versions of the module");
});
