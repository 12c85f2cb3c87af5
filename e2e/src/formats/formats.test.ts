import { readdirSync } from "node:fs";
import { cp, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashArchive, writeArchive } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { ARCHIVE_FILES, STORE_DIRECTORY } from "./recorded-formats.ts";

const FORMATS = join(import.meta.dirname, "../../formats");

/** The recorded stack in a new place, as a user who moved the directory has it. */
async function openStack(recording: string): Promise<Scratch> {
  const scratch = await Scratch.make();
  await cp(join(recording, "stack"), scratch.work, { recursive: true });
  await rename(join(scratch.work, STORE_DIRECTORY), join(scratch.work, ".stackwright"));
  const path = join(scratch.work, "next.plan");
  const file = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  file["store"] = `sqlite:${join(scratch.work, ".stackwright/store")}`;
  await writeFile(path, JSON.stringify(file));
  return scratch;
}

describe.each(readdirSync(FORMATS))("what release %s wrote", (release) => {
  const recording = join(FORMATS, release);

  it("is a store whose stack plans no change", async () => {
    await using scratch = await openStack(recording);
    const { code, error } = await cli(scratch, ["plan", "-detailed-exitcode"]);
    expect(error).toBe("");
    expect(code).toBe(0);
  });

  it("is a store whose secrets its key decrypts", async () => {
    await using scratch = await openStack(recording);
    const { output } = await cli(scratch, ["output", "-raw", "secret"]);
    expect(output.trim()).toBe("correct horse battery staple");
  });

  it("is a saved plan of a configuration, applied as it was made", async () => {
    await using scratch = await openStack(recording);
    const shown = await cli(scratch, ["show", "next.plan"]);
    expect(shown.output).toContain('"hello" -> "bye"');
    const applied = await cli(scratch, ["up", "-y", "next.plan"]);
    expect(applied.error).toBe("");
    expect(applied.code).toBe(0);
    const { output } = await cli(scratch, ["output", "-json", "names"]);
    expect(JSON.parse(output)).toEqual(["bye-0", "bye-1"]);
  });

  it("is a state that a new stack imports without a change", async () => {
    await using scratch = await Scratch.make();
    await cp(join(recording, "stack"), scratch.work, {
      recursive: true,
      filter: (path) => !path.includes(STORE_DIRECTORY) && !path.endsWith(".plan"),
    });
    await cp(join(recording, "state.tfstate"), join(scratch.folder, "state.tfstate"));
    const imported = await cli(scratch, ["import-state", join(scratch.folder, "state.tfstate")]);
    expect(imported.error).toBe("");
    const { code, error } = await cli(scratch, ["plan", "-detailed-exitcode"]);
    expect(error).toBe("");
    expect(code).toBe(0);
  });

  it("is an archive with the hashes of then, written again byte by byte", async () => {
    await using scratch = await Scratch.make();
    const recorded = join(recording, "archive.zip");
    const hashes: unknown = JSON.parse(await readFile(join(recording, "archive.json"), "utf8"));
    expect(await hashArchive(recorded)).toEqual(hashes);
    const written = join(scratch.folder, "archive.zip");
    await writeArchive(
      written,
      Object.entries(ARCHIVE_FILES).map(([path, text]) => ({
        path,
        mode: path.startsWith("terraform-provider-") ? 0o755 : 0o644,
        content: new TextEncoder().encode(text),
      })),
    );
    expect(await hashArchive(written)).toEqual(hashes);
  });
});
