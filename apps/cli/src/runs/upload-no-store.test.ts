import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@stackwright/core";
import { expect, it } from "vitest";
import { packConfiguration } from "./pack-configuration.ts";

const never = new AbortController().signal;

it("the store of a server in the folder is refused until the ignore file names it", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "no-store-"));
  const folder = scratch.path;
  await writeFile(join(folder, "main.tf"), "# main");
  const directory = join(folder, "data");
  await using _store = await openStore(
    { kind: "sqlite", directory },
    { blobDirectory: join(folder, "blobs") },
  );
  await expect(packConfiguration(folder, never)).rejects.toMatchObject({
    message: 'The folder "data" holds the store of a server.',
    advice: expect.stringContaining("the line /data/ to .terraformignore"),
  });
  await writeFile(join(folder, ".terraformignore"), "/data/\n");
  // The configuration and its ignore file.
  expect((await packConfiguration(folder, never)).files).toBe(2);
});
