import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { openStore } from "@stackwright/core";
import { createNotesProvider, TEST_PROGRAMS } from "@stackwright/core/testing";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { Platform } from "@stackwright/provider-source";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import { expect, it, onTestFinished } from "vitest";
import { pageBlocks } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/cli/docs/joined-providers.md as a reader follows it who has the three programs: its files and commands as they are written there.

const PAGE = "apps/cli/docs/joined-providers.md";
const RANDOM = process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"] ?? "";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;

/** Registers the private provider `notes` 1.0.0, a function of this process, in the store of a folder. */
async function registerNotes(folder: string): Promise<void> {
  const notes = join(folder, "notes");
  await mkdir(notes);
  const lifecycle = createLifecycleRunner({
    name: "notes",
    create: () => createNotesProvider(notes),
  });
  const served = await serveFunction({ runner: lifecycle, port: 0 });
  onTestFinished(() => served[Symbol.asyncDispose]());
  const table = {
    region: "local",
    projects: [PROJECT],
    functions: { [URN]: { url: served.url } },
    networks: ["127.0.0.0/8"],
  };
  await writeFile(join(folder, "functions.json"), JSON.stringify(table));
  const directory = join(folder, ".stackwright/store");
  await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory: "" });
  const registry = createRegistry({ ...store, keys: createKeyRing([new Uint8Array(32)]) });
  await registry.createProvider(
    { account: "default", region: "local" },
    { name: "notes", version: "1.0.0", functionUrn: URN },
    { actor: "test", requestId: "r" },
  );
}

it("the page about joined providers leads to one provider of three programs", {
  timeout: 180_000,
}, async (context) => {
  context.skip(RANDOM === "", "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set");
  const { folder, shell } = await createPageFolder();
  const [commands = "", engine = "", ...blocks] = await pageBlocks(PAGE, "sh");
  const [file = "", ...files] = await pageBlocks(PAGE, "json");
  const [configuration = "", ...others] = await pageBlocks(PAGE, "hcl");
  expect([blocks.length, files.length, others.length]).toEqual([0, 0, 0]);
  await registerNotes(folder);
  const shelf = join(folder, ".pulumi/plugins/resource-shelf-v1.0.0");
  await mkdir(shelf, { recursive: true });
  await writeFile(
    join(shelf, "pulumi-resource-shelf"),
    `#!/bin/sh\nexec '${process.execPath}' '${TEST_PROGRAMS.shelfProvider}' "$@"\n`,
    { mode: 0o755 },
  );
  const platform = Platform.ofNode().toString();
  const random = join(folder, "mirror/registry.terraform.io/hashicorp/random/3.6.3", platform);
  await mkdir(random, { recursive: true });
  await copyFile(RANDOM, join(random, "terraform-provider-random_v3.6.3"));
  await writeFile(
    join(folder, "trial.tfrc"),
    `provider_installation {\n  filesystem_mirror { path = "${folder}/mirror" }\n}\n`,
  );

  await writeFile(join(folder, "stackwright.providers.json"), file);
  await writeFile(join(folder, "main.tf"), configuration);
  const variables =
    'export TF_CLI_CONFIG_FILE="$HOME/trial.tfrc" STACKWRIGHT_FUNCTIONS=functions.json\n';
  const output = await shell(variables + commands);
  expect(output).toContain("random_id");
  expect(output).toContain("Apply complete: 1 added, 0 changed, 0 destroyed.");
  for (const name of ["random", "books", "notes"]) expect(output).toContain(name);

  // As an engine starts it: the port is the first line.
  expect(engine).toContain("--chdir=/srv/platform");
  await writeFile(
    join(folder, "bin/pulumi-resource-platform"),
    engine.replace("/srv/platform", folder),
    { mode: 0o755 },
  );
  const started = await shell(`${variables}mkfifo port
pulumi-resource-platform > port 2> log.txt &
read -r line < port
kill $!
wait $! || true
echo "$line"`);
  expect(started).toMatch(/^\d+\n$/);
});
