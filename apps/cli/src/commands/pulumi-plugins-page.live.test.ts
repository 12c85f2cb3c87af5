import { createHash } from "node:crypto";
import { appendFile, copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Platform } from "@stackwright/provider-source";
import { beforeEach, describe, expect, it } from "vitest";
import { pageBlocks } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/cli/docs/pulumi-plugins.md as a reader follows it with real plug-ins of Pulumi's SDKs: its files as they are written there, with the plug-in `lab`
// in its version for `shelf`.

const PAGE = "apps/cli/docs/pulumi-plugins.md";
const LAB = process.env["TEST_TOOL_PULUMI_RESOURCE_LAB"] ?? "";
const GARDEN = fileURLToPath(
  new URL("./testing/programs/garden-provider.ts", import.meta.resolve("@stackwright/mux")),
);

/** A file of the page with the plug-in that is there. */
const withLab = (file: string): string =>
  file.replaceAll("shelf", "lab").replaceAll("1.2.0", "1.0.0");

describe("the page about plug-ins of Pulumi", { timeout: 180_000 }, () => {
  beforeEach((context) => {
    context.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
  });

  /** The folder of a reader who has plug-ins that something else installed. */
  async function begin(programs: Readonly<Record<string, string>>) {
    const page = await createPageFolder({ GARDEN: "beds" });
    const write = async (name: string, text: string) => writeFile(join(page.folder, name), text);
    for (const [name, program] of Object.entries(programs)) {
      const folder = join(page.folder, ".pulumi/plugins", `resource-${name}`);
      await mkdir(folder, { recursive: true });
      const file = join(folder, `pulumi-resource-${name.replace(/-v[\d.]+$/, "")}`);
      const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
      if (program === LAB) await copyFile(LAB, file);
      else await writeFile(file, script, { mode: 0o755 });
    }
    const [plugins = "", parameters = "", ...files] = await pageBlocks(PAGE, "json");
    const [required = "", component = "", dynamic = "", ...others] = await pageBlocks(PAGE, "hcl");
    const [handler = "", ...modules] = await pageBlocks(PAGE, "js");
    expect([files, others, modules]).toEqual([[], [], []]);
    return { ...page, write, plugins, parameters, required, component, dynamic, handler };
  }

  it("leads to one of a server, that is installed, locked, explained, used, and refused once it was changed", async () => {
    const { folder, shell, write, plugins, required } = await begin({});
    const { os, arch } = Platform.ofNode();
    const archive = `pulumi-resource-lab-v1.0.0-${os}-${arch}.tar.gz`;
    await mkdir(join(folder, "server/v1.0.0"), { recursive: true });
    await copyFile(LAB, join(folder, "pulumi-resource-lab"));
    await shell(`tar --create --gzip --file server/v1.0.0/${archive} pulumi-resource-lab`);
    const bytes = await readFile(join(folder, "server/v1.0.0", archive));
    const sum = createHash("sha256").update(bytes).digest("hex");
    const entry = withLab(plugins)
      .replace("https://plugins.example.com", "./server")
      .replace("linux-amd64", `${os}-${arch}`);
    await write(
      "main.tf",
      `${withLab(required)}
provider "lab" { directory = "notes" }
resource "lab:index:Note" "n" { title = "one" }
output "text" { value = lab_note.n.text }
`,
    );
    await write("stackwright.providers.json", entry);
    const refused = await shell("stackwright init 2>&1 || test $? = 1");
    expect(refused.replaceAll(/\s+[│|]?\s*/g, " ")).toMatch(/checksum|SHA-256/i);
    expect(refused).toContain(sum);

    await write("stackwright.providers.json", entry.replace(/"[0-9a-f]{64}"/, `"${sum}"`));
    await shell("stackwright init");
    expect(await readdir(join(folder, ".pulumi/plugins"))).toContain("resource-lab-v1.0.0");
    expect(await readFile(join(folder, ".terraform.lock.hcl"), "utf8")).toContain(
      "stackwright.local/pulumi/lab",
    );
    const listed = await shell("stackwright providers");
    expect(listed).toContain("1.0.0");
    expect(listed).toContain("./server/v${VERSION}");
    expect(await shell("stackwright providers explain")).toContain("lab_note");
    for (const name of ["lab_note", "lab:index:Note"]) {
      expect(await shell(`stackwright providers explain ${name}`)).toContain("title");
    }
    expect(await shell("stackwright up --yes")).toContain('text = "empty"');
    expect(await readdir(join(folder, "notes"))).toHaveLength(1);

    // The folder of a machine without a network stands for all servers.
    const { folder: second, ...elsewhere } = await begin({});
    await elsewhere.write("main.tf", withLab(required));
    await elsewhere.write(
      "stackwright.providers.json",
      withLab(plugins).replace(/"[0-9a-f]{64}"/, `"${sum}"`),
    );
    await elsewhere.shell(`STACKWRIGHT_PULUMI_SERVER='${folder}/server/v1.0.0' stackwright init`);
    expect(await readdir(join(second, ".pulumi/plugins"))).toContain("resource-lab-v1.0.0");

    await appendFile(join(folder, ".pulumi/plugins/resource-lab-v1.0.0/pulumi-resource-lab"), "x");
    expect(await shell("stackwright plan 2>&1 || test $? = 1")).toContain(
      "has none of the hashes in the lock file",
    );
  });

  it("leads to a component and its method", async () => {
    const { folder, shell, write, component } = await begin({ "garden-v1.0.0": GARDEN });
    await mkdir(join(folder, "beds"));
    const required = `terraform {
  required_providers {
    garden = { source = "stackwright.local/pulumi/garden" }
  }
}
output "text" { value = data.garden_bed_describe.main.text }
output "children" { value = garden_bed.main.children }
`;
    await write("main.tf", required + component);
    expect(await shell("stackwright plan")).toContain("(known after apply)");
    const made = await shell("stackwright up --yes");
    expect(made).toContain("1 added");
    expect(await shell("stackwright output text")).toContain("fern");
    const children = await shell("stackwright output --json children");
    expect(children).toContain("main");
    expect(await shell("stackwright destroy --yes")).toContain("1 destroyed");
  });

  it("leads to resources of a module in the configuration", async () => {
    // Without an address of an engine it ends at once.
    const program = createRequire(import.meta.resolve("@stackwright/mux")).resolve(
      "@pulumi/pulumi/cmd/dynamic-provider",
    );
    const { shell, write, dynamic, handler } = await begin({ "pulumi-nodejs-v3.260.0": program });
    await write("main.tf", dynamic);
    await write("greeting.js", handler);
    await shell("stackwright up --yes");
    expect(await shell("stackwright output -raw text")).toBe("Hello Ann");
    expect(await shell("stackwright plan --detailed-exitcode")).toContain("No changes.");
  });

  it("leads to a package that parameters make of a plug-in", async () => {
    const { folder, shell, write, parameters } = await begin({ "lab-v1.0.0": LAB });
    await write("stackwright.providers.json", withLab(parameters));
    await write(
      "main.tf",
      `terraform {
  required_providers {
    ledger = { source = "example.com/acme/ledger" }
  }
}
provider "ledger" { directory = "notes" }
resource "ledger_note" "n" { title = "two" }
`,
    );
    expect(await shell("stackwright up --yes")).toContain("1 added");
    expect(await readdir(join(folder, "notes"))).toHaveLength(1);
  });
});
