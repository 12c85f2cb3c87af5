import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/terraform-state.md as a reader follows it who has a state in a file: its commands as they are written there, with another port.

const PAGE = "apps/engine/docs/terraform-state.md";
const MAIN = 'resource "terraform_data" "greeting" { input = "hello" }\n';

it("the page about states leads from a local state to one of the server that is restored", {
  timeout: 180_000,
}, async (context) => {
  const hasTerraform = spawnSync("terraform", ["version"]).status === 0;
  context.skip(!hasTerraform, "the commands of the page need terraform, which is not installed");
  const page = await createPageFolder({
    CHECKPOINT_DISABLE: "1",
    TF_CLI_ARGS: "-no-color",
  });
  const { folder, shell } = page;
  const [serve = "", ...blocks] = await pageBlocks(PAGE, "sh");
  const [backend = "", ...files] = await pageBlocks(PAGE, "hcl");
  expect([blocks.length, files.length]).toEqual([3, 0]);
  const { here } = await startPageServer(serve, page);
  const [move = "", versions = "", locks = ""] = blocks.map(here);

  await writeFile(join(folder, "main.tf"), MAIN);
  await shell("terraform init && terraform apply -auto-approve");
  await writeFile(join(folder, "backend.tf"), here(backend));
  expect(await shell(move)).toContain("No changes.");

  await writeFile(join(folder, "main.tf"), MAIN.replace("hello", "goodbye"));
  // The password is a variable of the reader's shell.
  const [password = ""] = move.split("\n");
  const listed = await shell(`${password}\n${versions}`);
  expect(listed).toMatch(/^2: serial 2, .*apply.* present$/m);
  expect(listed).toContain("as version 3, with the serial 3.");
  expect(await readFile(join(folder, "old.tfstate"), "utf8")).toContain('"hello"');
  expect(await shell(`${password}\nterraform state pull`)).toContain('"hello"');

  const refused = await shell(`${password}\n${locks}\nterraform plan -lock-timeout=1s`);
  expect(refused).toContain("HTTP remote state already locked");
  expect(refused).toContain("migration until noon");
  expect(refused).toContain("Plan: 0 to add, 1 to change, 0 to destroy.");
});
