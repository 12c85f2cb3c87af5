import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it("says of every block and attribute how its description is written", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "providers-schema-"));
  await writeFile(join(folder.path, "main.tf"), 'resource "terraform_data" "a" {}\n');
  const words = ["providers", "schema", "-json"];
  const { code, output, error } = await tryCommand(words, { cwd: folder.path });
  expect([code, error]).toEqual([0, ""]);
  const { provider_schemas } = JSON.parse(output) as {
    provider_schemas: Record<string, Record<string, unknown>>;
  };
  expect(provider_schemas["terraform.io/builtin/terraform"]).toMatchObject({
    provider: { block: { description_kind: "plain" } },
    resource_schemas: {
      terraform_data: {
        block: { description_kind: "plain", attributes: { id: { description_kind: "plain" } } },
      },
    },
    data_source_schemas: {
      terraform_remote_state: {
        block: {
          description_kind: "plain",
          attributes: { backend: { description_kind: "markdown" } },
        },
      },
    },
  });
});
