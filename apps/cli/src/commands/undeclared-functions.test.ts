import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const DECLARED = `terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
`;
const CALL = `output "text" { value = provider::terraform::encode_expr("x") }\n`;

describe("functions of a provider", () => {
  it("can be called where required_providers has an entry for it", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-functions-"));
    await writeFile(join(folder.path, "main.tf"), `${DECLARED}${CALL}`);
    expect(await tryCommand(["validate"], { cwd: folder.path })).toMatchObject({ code: 0 });
  });

  it("cannot be called where only a resource implies it", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-functions-"));
    await writeFile(join(folder.path, "main.tf"), `resource "terraform_data" "x" {}\n${CALL}`);
    const { code, error } = await tryCommand(["validate"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(error).toContain("required_providers");
    expect((await tryCommand(["plan"], { cwd: folder.path })).code).toBe(1);
  });

  it("cannot be called in a module whose own required_providers has none", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-functions-"));
    await mkdir(join(folder.path, "m"));
    const root = `${DECLARED}${CALL}module "m" {\n  source = "./m"\n}\n`;
    await writeFile(join(folder.path, "main.tf"), root);
    await writeFile(join(folder.path, "m", "main.tf"), CALL);
    const { code, error } = await tryCommand(["validate"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(error).toContain("m/main.tf line 1");
  });
});
