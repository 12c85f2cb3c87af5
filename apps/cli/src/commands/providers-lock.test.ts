import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const SOURCE = "registry.example.com/acme/thing";

const TEMPLATE = `
terraform {
  required_providers {
    thing = { source = "${SOURCE}", version = "~> 1.0" }
    notes = { source = "stackwright.local/pulumi/notes" }
  }
}
`;

describe("providers lock and providers mirror", () => {
  let cwd: string;
  let env: NodeJS.ProcessEnv;
  let registry: Server;

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-lock-"));
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
    for (const [version, platform] of [
      ["1.0.0", "linux_amd64"],
      ["1.0.0", "darwin_arm64"],
      ["2.0.0", "linux_amd64"],
    ]) {
      const folder = join(cwd, "mirror", SOURCE, version ?? "", platform ?? "");
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "terraform-provider-thing"), `#!/bin/sh\n# ${platform}\n`);
    }
    // A registry that has nothing.
    registry = createServer((_request, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
    const { port } = registry.address() as AddressInfo;
    await writeFile(
      join(cwd, "rc"),
      `host "registry.example.com" {\n  services = { "providers.v1" = "http://127.0.0.1:${port}/v1/" }\n}\n`,
    );
    env = { HOME: cwd, TF_CLI_CONFIG_FILE: join(cwd, "rc") };
  });

  afterEach(async () => {
    await new Promise((resolve) => registry.close(resolve));
    await rm(cwd, { recursive: true, force: true });
  });

  const lockFile = async (): Promise<string> => readFile(join(cwd, ".terraform.lock.hcl"), "utf8");

  it("locks several platforms from a folder, and says that the second time nothing is new", async () => {
    const words = ["providers", "lock", "-fs-mirror=mirror"];
    const platforms = ["-platform=linux_amd64", "-platform=darwin_arm64"];
    const first = await tryCommand([...words, ...platforms], { cwd, env });
    expect(first).toMatchObject({ code: 0, error: "" });
    expect(first.output).toContain(`${SOURCE} 1.0.0 for darwin_arm64 (unsigned): new in`);
    const text = await lockFile();
    expect(text).toContain('version     = "1.0.0"');
    expect(text.match(/h1:/g)).toHaveLength(2);
    expect(text).not.toContain("stackwright.local");

    const again = await tryCommand([...words, SOURCE, ...platforms], { cwd, env });
    expect(again.output).toContain("has all of these already");
    expect(await lockFile()).toBe(text);
  });

  it("installs nothing", async () => {
    await tryCommand(["providers", "lock", "-fs-mirror=mirror", "-platform=linux_amd64"], {
      cwd,
      env,
    });
    expect((await readdir(cwd)).toSorted()).toEqual([
      ".terraform.lock.hcl",
      "main.tf",
      "mirror",
      "rc",
    ]);
  });

  it.each([
    [["lock", "-fs-mirror=a", "-net-mirror=https://b/"], "cannot go together"],
    [["lock", "-platform=linux"], '"linux" is not a valid platform'],
    [["lock", "-net-mirror=http://b/"], "must be an https: URL"],
    [["lock", "hashicorp/null"], "requires no provider registry.terraform.io/hashicorp/null"],
    [["lock", "a/b/c/d"], "is not a valid provider source"],
    [["lock"], "there is no provider"],
    [["mirror"], "missing required argument"],
    [["mirror", "-platform=x", "out"], '"x" is not a valid platform'],
  ])("refuses %j", async (words, why) => {
    const { code, error } = await tryCommand(["providers", ...words], { cwd, env });
    expect(error).toContain(why);
    expect(code).toBe(1);
  });

  it("says what a mirror could not be given", async () => {
    const { code, error } = await tryCommand(["providers", "mirror", "out"], { cwd, env });
    expect(error).toContain(`${SOURCE} was not mirrored: there is no provider`);
    expect(code).toBe(1);
  });

  it("requires a lock file that fits, unless an option ignores it", async () => {
    await writeFile(
      join(cwd, ".terraform.lock.hcl"),
      `provider "${SOURCE}" {\n  version = "2.0.0"\n}\n`,
    );
    const { error } = await tryCommand(["providers", "mirror", "out"], { cwd, env });
    expect(error).toContain("locked to 2.0.0");
    const without = await tryCommand(["providers", "mirror", "-lock-file=false", "out"], {
      cwd,
      env,
    });
    expect(without.error).not.toContain("locked");
  });

  it("of a provider that is missing in it is an error of init -lockfile=readonly, which writes nothing", async () => {
    await writeFile(join(cwd, "main.tf"), TEMPLATE.replace(/\n.*notes.*/, ""));
    const path = join(cwd, ".terraform.lock.hcl");
    const other = `provider "registry.example.com/acme/other" {\n  version = "1.0.0"\n}\n`;
    await writeFile(path, other);
    const init = async (...words: readonly string[]) =>
      tryCommand(["init", "-plugin-dir=mirror", ...words], { cwd, env });
    const refused = await init("-lockfile=readonly");
    expect(refused.code, refused.output).toBe(1);
    expect(refused.output + refused.error).toContain("would change");
    expect(await lockFile()).toBe(other);
    // Without the option the same call locks it.
    expect(await init()).toMatchObject({ code: 0 });
    expect(await lockFile()).toContain(SOURCE);
  });
});
