import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it.each(["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"])(
  "a missing file that %s names is reported, by a command that does not need it too",
  async (name) => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "cli-configuration-"));
    const file = join(scratch.path, "rc");
    const missing = await tryCommand(["version"], { env: { [name]: file } });
    expect(missing).toMatchObject({
      code: 0,
      error: `Note: the CLI configuration file "${file}" does not exist, and is taken as empty. Make it, or correct or unset ${name}.\n`,
    });
    await writeFile(file, "");
    expect(await tryCommand(["version"], { env: { [name]: file } })).toMatchObject({ error: "" });
    expect(await tryCommand(["version"], { env: { [name]: "" } })).toMatchObject({ error: "" });
  },
);
