import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { formatStateFile, parseStateFile } from "@stackwright/tfstate";
import { describe, expect, test } from "vitest";
import { createTestState, TEST_STACK } from "../testing/state-fixture.ts";
import { exportState } from "./export-state.ts";
import { importState } from "./import-state.ts";

const run = promisify(execFile);
const COMMAND = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";

const CONFIG = `
variable "pw" {
  sensitive = true
  default   = "hunter2"
}
resource "terraform_data" "a" {
  count = 2
  input = { n = 90071992547409931234.5, pw = var.pw, html = "<&>" }
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "b" {
  for_each = { "x y" = 0, "q\\"r" = 1 }
  input    = terraform_data.a[each.value].id
}
output "b" { value = { for k, v in terraform_data.b : k => v.output } }
`;

async function commandVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await run(COMMAND, ["version", "-json"]);
    return (JSON.parse(stdout) as { terraform_version: string }).terraform_version;
  } catch {
    return undefined;
  }
}

describe("a state that came through a store", () => {
  test("is the same for the command, which then plans nothing", async (context) => {
    const version = await commandVersion();
    context.skip(version === undefined, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
    const directory = await mkdtemp(join(tmpdir(), "tfstate-"));
    try {
      const terraform = (...args: string[]) => run(COMMAND, args, { cwd: directory });
      await writeFile(join(directory, "main.tf"), CONFIG);
      await terraform("init", "-no-color");
      await terraform("apply", "-auto-approve", "-no-color");
      const path = join(directory, "terraform.tfstate");
      const shown = JSON.parse((await terraform("show", "-json")).stdout) as unknown;

      const file = parseStateFile(await readFile(path, "utf8"));
      const { changes, outputs } = importState(file);
      const { state, ulid } = createTestState();
      await using hold = await state.acquire();
      const writer = await hold.begin({ run: ulid(), base: 0n });
      await Promise.all(changes.map((change) => writer.write(change)));
      await writer.finish({ outputs });
      const { lineage, terraformVersion } = file;
      const options = { lineage, terraformVersion, serial: file.serial + 1n };
      const exported = exportState(TEST_STACK, await state.read(), options);
      await writeFile(path, formatStateFile(exported));

      expect(JSON.parse((await terraform("show", "-json")).stdout)).toEqual(shown);
      // Exit code 2 would mean that there are changes; it rejects.
      await terraform("plan", "-detailed-exitcode", "-no-color");
      await terraform("destroy", "-auto-approve", "-no-color");
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
