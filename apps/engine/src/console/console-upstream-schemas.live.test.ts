import { copyFile, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, it, onTestFinished } from "vitest";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { takePictures } from "../testing/take-pictures.ts";

const SOURCE = "registry.terraform.io/acme/things";

/** A mirror with two versions of a provider, whose programs are two real ones. */
async function mirrorOf(builds: Readonly<Record<string, string>>): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "mirror-"));
  onTestFinished(() => scratch.remove());
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  for (const [version, build] of Object.entries(builds)) {
    const at = join(scratch.path, "mirror", SOURCE, version, platform);
    await mkdir(at, { recursive: true });
    await copyFile(build, join(at, `terraform-provider-things_v${version}`));
  }
  const file = join(scratch.path, "mirror.rc");
  const path = JSON.stringify(join(scratch.path, "mirror"));
  await writeFile(file, `provider_installation {\n  filesystem_mirror { path = ${path} }\n}\n`);
  return file;
}

const configuration = (version: string, resource: string): string => `
terraform {
  required_providers {
    things = {
      source  = "acme/things"
      version = "${version}"
    }
  }
}
${resource}
`;

it("versions of a provider of another registry are compared once runs have used them", {
  timeout: 240_000,
}, async (context) => {
  const before = process.env["TEST_TOOL_TERRAFORM_PROVIDER_NULL"];
  const after = process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"];
  context.skip(before === undefined || after === undefined, "there are no builds of providers");
  const rc = await mirrorOf({ "1.0.0": before ?? "", "2.0.0": after ?? "" });
  const { page, browser, server, request, waitFor } = await startConsole(context, {
    env: { TF_CLI_CONFIG_FILE: rc },
  });
  await page.goto(`${server.url}/console/registry`);
  await page.getByText("There is no schema of such a provider yet").waitFor();

  const nothing = 'resource "null_resource" "a" { provider = things }';
  const first = await request(configuration("1.0.0", nothing), { auto_apply: true });
  await waitFor(first, "applied");
  await page.reload();
  await page
    .getByRole("table", { name: "Providers of other registries" })
    .getByRole("link", { name: SOURCE })
    .click();
  await page.getByText("The server has the schema of one version").waitFor();
  await page.goto(`${page.url()}?from=1.0.0&to=2.0.0`);
  await page
    .getByText("The server has no schema of version 2.0.0; it gets one when a run uses it.")
    .waitFor();

  // The plan of the second one fails, as the object of the first is of a type that is gone; the schema is known by then.
  const random = 'resource "random_id" "b" {\n  provider    = things\n  byte_length = 2\n}';
  await request(configuration("2.0.0", `${nothing}\n${random}`), {});
  await expect
    .poll(
      async () => {
        await page.reload();
        await isLoaded(page);
        return page.getByRole("table", { name: "Changes of the schema" }).count();
      },
      { timeout: 90_000, interval: 1_000 },
    )
    .toBe(1);
  const changes = page.getByRole("table", { name: "Changes of the schema" });
  await changes.getByRole("row", { name: /resource null_resource is gone may break/ }).waitFor();
  await changes.getByRole("row", { name: /resource random_id is new/ }).waitFor();
  // The stack that has an object of the type that is gone.
  await page.getByRole("link", { name: "default/one" }).waitFor();
  await isLoaded(page);
  await takePictures(page, "upstream");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
