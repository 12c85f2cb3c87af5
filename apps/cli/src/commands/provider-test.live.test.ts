import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

// Providers that others wrote, with both SDKs of Terraform and the one of Pulumi: sound ones are found to be so.

const NAMES = ["TERRAFORM_PROVIDER_RANDOM", "TERRAFORM_PROVIDER_LAB", "PULUMI_RESOURCE_LAB"];
const SAMPLES: Readonly<Record<string, (folder: string) => object>> = {
  TERRAFORM_PROVIDER_RANDOM: () => ({
    resources: {
      random_pet: {
        config: { length: 2, keepers: { a: "1" } },
        replace: { length: 3 },
        observable: false,
      },
      random_password: { config: { length: 16 }, observable: false },
    },
  }),
  TERRAFORM_PROVIDER_LAB: (folder) => ({
    settings: { directory: join(folder, "store") },
    resources: {
      lab_object: {
        config: { name: "a", size: 2 },
        update: { name: "a", size: 3 },
        replace: { name: "b", size: 3 },
      },
    },
  }),
  PULUMI_RESOURCE_LAB: (folder) => ({
    settings: { directory: join(folder, "store") },
    resources: {
      lab_note: {
        config: { title: "a", text: "one" },
        update: { title: "a", text: "two" },
        replace: { title: "b", text: "two" },
        import: "id",
        importIgnores: ["title", "revision"],
      },
      lab_binder: { config: { titles: ["c", "d"], text: "one" }, observable: false },
    },
  }),
};

it.for(NAMES)("finds nothing wrong with %s", { timeout: 120_000 }, async (name, context) => {
  const variable = `TEST_TOOL_${name}`;
  const program = process.env[variable];
  context.skip(program === undefined, `${variable} is not set`);
  const scratch = await mkdtempDisposable(join(tmpdir(), "provider test "));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "samples.json"), JSON.stringify(SAMPLES[name]?.(cwd)));
  const kind = name.startsWith("PULUMI") ? ["--pulumi"] : [];
  const tested = await tryCommand(
    ["provider", "test", ...kind, "--samples", "samples.json", program ?? ""],
    {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd },
    },
  );
  expect(tested.code, tested.output + tested.error).toBe(0);
  expect(tested.output).toContain("0 failed, 0 skipped, 0 warnings");
  expect(tested.output).toContain("ok      deletes it, and finds that it is gone");
  expect((await readdir(cwd)).filter((entry) => !/^(?:samples\.json|store)$/.test(entry))).toEqual(
    [],
  );
});
