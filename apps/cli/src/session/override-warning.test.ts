import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it("init warns of programs that are used instead of releases", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-override-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const source = `terraform {\n  required_providers {\n    x = {\n      source = "a/x"\n    }\n  }\n}\n`;
  await writeFile(join(cwd, "main.tf"), source);
  await writeFile(join(cwd, "terraform-provider-x"), "#!/bin/sh\n", { mode: 0o755 });
  const rc = `provider_installation {\n  dev_overrides {\n    "a/x" = "${cwd}"\n  }\n  direct {}\n}\n`;
  await writeFile(join(cwd, "rc"), rc);
  const env = { TF_CLI_CONFIG_FILE: join(cwd, "rc") };
  const text = await tryCommand(["init"], { cwd, env });
  expect(text.code).toBe(0);
  expect(text.error).toContain("Provider development overrides are in effect");
  expect(text.error).toContain(`a/x in ${cwd}`);
  const json = await tryCommand(["init", "-json"], { cwd, env });
  expect(json.output).toContain("ENGINE_DEV_OVERRIDES");
});
