import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { hasConstraints, readProviderConstraints } from "./provider-constraints.ts";

const NET = "stackwright.example.com/team/net";

async function constraintsOf(files: Readonly<Record<string, string>>, root = "") {
  const scratch = await mkdtempDisposable(join(tmpdir(), "constraints-"));
  onTestFinished(() => scratch.remove());
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(scratch.path, name)), { recursive: true });
    await writeFile(join(scratch.path, name), text);
  }
  return readProviderConstraints(scratch.path, root);
}

function needs(source: string, version?: string): string {
  const line = version === undefined ? "" : `version = "${version}"`;
  return `terraform {\n required_providers {\n p = {\n source = "${source}"\n ${line}\n }\n }\n }\n`;
}

const calls = (source: string): string => `module "m" {\n source = "${source}"\n}\n`;

it("the root module and those that it calls by local paths allow together what each of them allows", async () => {
  const files = {
    "stacks/web/main.tf": needs(NET, ">= 1.0") + calls("../../modules/a"),
    "modules/a/main.tf": needs(NET, "< 3.0") + calls("./b"),
    "modules/a/b/main.tf": needs("acme/other", "~> 2.1"),
    "modules/unused/main.tf": needs(NET, "= 9.9.9"),
  };
  expect(await constraintsOf(files, "stacks/web")).toEqual([
    { source: NET, versions: ">= 1.0.0, < 3.0.0" },
    { source: "registry.terraform.io/acme/other", versions: "~> 2.1" },
  ]);
});

it.each([
  ["without a version", needs(NET)],
  [
    "of a private provider, which always names one version",
    needs("huawei.com/private-provider/vault", "1.0.0"),
  ],
  ["of a configuration that does not parse", "terraform {"],
  ["of one that leads out of the archive", calls("../../../etc")],
  [
    "of one that the parser gives up",
    `${needs(NET, "1.0.0")}locals { x = "${"${a}".repeat(200_000)}" }`,
  ],
  [
    "of one that says more than is recorded",
    needs(NET, Array.from({ length: 2_000 }, (_, index) => `!= 1.0.${index}`).join(", ")),
  ],
  ["of one that is too large", `${needs(NET, "1.0.0")}# ${"x".repeat(256 * 1024)}`],
])("there are none %s", async (_what, text) => {
  expect(await constraintsOf({ "main.tf": text })).toEqual([]);
});

it("files that are too large together are not parsed", async () => {
  const called = { "m/main.tf": needs(NET, "< 3.0") };
  const files = (length: number) => ({
    ...called,
    "main.tf": `${needs(NET, ">= 1.0")}${calls("./m")}# ${"x".repeat(length)}`,
  });
  expect(await constraintsOf(files(255 * 1024))).toEqual([
    { source: NET, versions: ">= 1.0.0, < 3.0.0" },
  ]);
  expect(await constraintsOf(files(256 * 1024 - 250))).toEqual([]);
});

it("they are read from configuration files alone", () => {
  const names = ["a/main.tf", "main.tf.json", "x_override.tf", "main.tf.bak", "README.md"];
  expect(names.filter(hasConstraints)).toEqual(["a/main.tf", "main.tf.json", "x_override.tf"]);
});
