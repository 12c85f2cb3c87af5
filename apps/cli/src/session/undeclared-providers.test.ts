import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const DECLARED = `
terraform {
  required_providers {
    thing = { source = "registry.example.com/acme/thing" }
  }
}
resource "thing_thing" "t" {}
`;

const METHODS = {
  "there is no such provider": (folder: string) =>
    `provider_installation {\n  filesystem_mirror {\n    path = "${folder}"\n  }\n}\n`,
  "its registry cannot be reached": () =>
    ["registry.terraform.io", "registry.example.com"]
      .map(
        (host) => `host "${host}" {\n  services = { "providers.v1" = "http://127.0.0.1:1/" }\n}\n`,
      )
      .join(""),
};

async function tell(method: keyof typeof METHODS, config: string, ...words: string[]) {
  await using folder = await mkdtempDisposable(join(tmpdir(), "undeclared-"));
  const cwd = folder.path;
  await mkdir(join(cwd, "mirror"));
  await writeFile(join(cwd, "rc"), METHODS[method](join(cwd, "mirror")));
  await writeFile(join(cwd, "main.tf"), config);
  return await tryCommand(words, { cwd, env: { TF_CLI_CONFIG_FILE: join(cwd, "rc") } });
}

describe("a provider that is not declared", { timeout: 60_000 }, () => {
  it.each([
    ["there is no such provider", "plan"],
    ["there is no such provider", "init"],
    ["its registry cannot be reached", "plan"],
    ["its registry cannot be reached", "up"],
  ] as const)("is named, with what it was taken for: %s, %s", async (method, command) => {
    const { code, error } = await tell(method, '\nresource "zones_zone" "a" {}\n', command);
    expect(code).toBe(1);
    expect(error).toContain(
      'The provider "zones" is not in required_providers (main.tf line 2), and is taken for hashicorp/zones.',
    );
    expect(error).toContain('  required_providers {\n      zones = { source = "hashicorp/zones" }');
    expect(error).toContain("huawei.com/private-provider/NAME");
  });

  it.each(["there is no such provider", "its registry cannot be reached"] as const)(
    "is no matter where all are declared: %s",
    async (method) => {
      const { code, error } = await tell(method, DECLARED, "plan");
      expect(code).toBe(1);
      expect(error).not.toContain("required_providers");
    },
  );
});
