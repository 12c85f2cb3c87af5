import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { startPlatform, urnOf } from "@stackwright-examples/private-provider/platform";

// A Terraform provider, a private one, a Pulumi provider and the built-in one in one stack:
//   node main.ts PATH-OF-terraform-provider-random PATH-OF-pulumi-resource-lab
const { TEST_TOOL_TERRAFORM_PROVIDER_RANDOM, TEST_TOOL_PULUMI_RESOURCE_LAB } = process.env;
const random = process.argv[2] ?? TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "";
const lab = process.argv[3] ?? TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";
if (random === "" || lab === "") {
  const missing = random === "" ? "terraform-provider-random" : "pulumi-resource-lab";
  process.stdout.write(`skipped: the path of ${missing} is missing\n`);
  process.exit(77);
}
const say = (text: string) => process.stdout.write(`${text}\n`);
const here = import.meta.dirname;
const folder = await mkdtemp(join(tmpdir(), "mixed-stack-"));

/** Where installations find the program: a folder that the configuration file of the CLI names. */
async function installationOf(program: string): Promise<string> {
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const place = join(folder, "mirror/registry.terraform.io/hashicorp/random/3.9.0", platform);
  await mkdir(place, { recursive: true });
  await symlink(program, join(place, "terraform-provider-random_v3.9.0"));
  const file = join(folder, "cli.tfrc");
  const mirror = JSON.stringify(join(folder, "mirror"));
  await writeFile(file, `provider_installation {\n  filesystem_mirror { path = ${mirror} }\n}\n`);
  return file;
}

try {
  const notes = join(folder, "notes");
  await mkdir(notes);
  const ipam = join(here, "../private-provider/function.ts");
  await using platform = await startPlatform({
    folder,
    functions: [
      { urn: urnOf("ipam"), command: ["node", ipam], cwd: ".", env: { IPAM_FOLDER: "pools" } },
    ],
    env: {
      TF_CLI_CONFIG_FILE: await installationOf(random),
      STACKWRIGHT_PULUMI_PLUGINS: dirname(lab),
      TF_VAR_notes: notes,
    },
  });
  say(await platform.register("ipam", "1.0.0", urnOf("ipam")));
  // The lock file is next to the configuration, so the configuration is copied to a writable place.
  const stack = join(folder, "stack");
  await mkdir(stack);
  await writeFile(join(stack, "main.tf"), await readFile(join(here, "main.tf")));

  say(await platform.stackwright(stack, "up", "--yes"));
  const [card = ""] = await readdir(notes);
  say(`${card}: ${await readFile(join(notes, card), "utf8")}`);
  await platform.stackwright(stack, "plan", "--detailed-exitcode");
  say("A second plan has nothing to do.\n");

  say(await platform.stackwright(stack, "destroy", "--yes"));
  assert.deepEqual(await readdir(notes), []);
} finally {
  await rm(folder, { recursive: true, force: true });
}
