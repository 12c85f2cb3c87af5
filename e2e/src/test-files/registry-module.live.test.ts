import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ModuleServer } from "../modules/module-server.ts";
import { cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";

describe("a run with a module of a registry", () => {
  it("is installed by init, locked, and kept by commands that load no test files", async () => {
    const scratch = await Scratch.make();
    onTestFinished(async () => scratch[Symbol.asyncDispose]());
    const { folder, work } = scratch;
    await mkdir(join(folder, "pack/inner"), { recursive: true });
    await writeFile(join(folder, "pack/main.tf"), 'module "in" { source = "./inner" }\n');
    await writeFile(join(folder, "pack/inner/main.tf"), 'output "v" { value = 1 }\n');
    execFileSync("tar", ["-czf", join(folder, "a.tar.gz"), "-C", join(folder, "pack"), "."]);
    const server = await ModuleServer.start({
      archives: { "/a.tar.gz": await readFile(join(folder, "a.tar.gz")) },
      modules: { "ns/net/aws": { versions: ["1.0.0", "1.4.0"], location: "/a.tar.gz" } },
      redirects: {},
      repositories: folder,
      token: "secret",
    });
    onTestFinished(async () => server[Symbol.asyncDispose]());
    await writeFile(
      join(folder, "rc"),
      `host "mods.example.test" {\n  services = { "modules.v1" = "${server.url}/v1/" }\n}\ncredentials "mods.example.test" {\n  token = "secret"\n}\n`,
    );
    await scratch.write({
      "main.tf": 'output "v" { value = 2 }\n',
      "tests/a.tftest.hcl": `run "setup" {
  module {
    source  = "mods.example.test/ns/net/aws"
    version = "1.0.0"
  }
}
run "own" {
  assert {
    condition     = output.v == 2
    error_message = "not the root module"
  }
}
`,
    });
    const init = await cli(scratch, ["init"]);
    expect(init.error).toBe("");
    expect(init.output).toContain("Installed test.tests.a.setup from mods.example.test/ns/net/aws");
    const manifest = async (): Promise<string> =>
      readFile(join(work, ".terraform/modules/modules.json"), "utf8");
    expect(await manifest()).toContain('"Key":"test.tests.a.setup.in"');
    const lock = async (): Promise<string> =>
      readFile(join(work, ".stackwright.modules.lock.hcl"), "utf8");
    const before = [await manifest(), await lock()];
    expect((await cli(scratch, ["plan"])).code).toBe(0);
    expect([await manifest(), await lock()]).toEqual(before);
    const { code, output } = await cli(scratch, ["test"], {
      env: { STACKWRIGHT_OFFLINE: "1" },
    });
    expect(output).toContain("Success! 2 passed, 0 failed.");
    expect(code).toBe(0);
  });
});
