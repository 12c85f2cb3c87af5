import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startPlatform, urnOf } from "@stackwright-examples/private-provider/platform";

// A provider that others wrote in Go runs behind a function, as it is:
//   node main.ts PATH-OF-terraform-provider-random
const program = process.argv[2] ?? process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"] ?? "";
if (program === "") {
  process.stdout.write("skipped: the path of terraform-provider-random is missing\n");
  process.exit(77);
}
const say = (text: string) => process.stdout.write(`${text}\n`);
const here = import.meta.dirname;
const wrapper = join(here, "../../packages/fg-bridge/src/function/main.ts");
const folder = await mkdtemp(join(tmpdir(), "wrapped-provider-"));
try {
  await using platform = await startPlatform({
    folder,
    functions: [
      {
        urn: urnOf("random"),
        // Of the published package: "stackwright-function" instead of "node" and the file.
        command: ["node", wrapper, "--provider", program, "--journal", "journal"],
        cwd: ".",
        concurrency: 8,
      },
    ],
  });
  say(await platform.register("random", "3.9.0", urnOf("random")));
  say(await platform.stackwright(here, "up", "--yes"));
  await platform.stackwright(here, "plan", "--detailed-exitcode");
  const password = await platform.stackwright(here, "output", "--raw", "password");
  assert.equal(password.length, 20);
  say(await platform.stackwright(here, "destroy", "--yes"));
} finally {
  await rm(folder, { recursive: true, force: true });
}
