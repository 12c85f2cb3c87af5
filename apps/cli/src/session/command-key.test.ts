import { mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyEncryptionKey } from "@stackwright/core";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const SECRET = `
variable "word" {
  default   = "hunter2"
  sensitive = true
}
resource "terraform_data" "a" { input = var.word }
`;

const KEY = Buffer.alloc(32, 7);
const OTHER = Buffer.alloc(32, 8);
const idOf = (bytes: Buffer): string => keyEncryptionKey(bytes).id;

async function project() {
  const folder = await mkdtempDisposable(join(tmpdir(), "command-key-"));
  const cwd = folder.path;
  await writeFile(join(cwd, "main.tf"), SECRET);
  const run = async (env: Record<string, string>, ...words: string[]) =>
    tryCommand(words, { cwd, env });
  return { cwd, run, [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose]() };
}

describe("a stack whose key is another", { timeout: 60_000 }, () => {
  it("says which key was used, where keys come from, and that all need the same one", async () => {
    await using made = await project();
    const { cwd, run } = made;
    const first = await run({ STACKWRIGHT_KEY: KEY.toString("base64") }, "up", "--yes");
    expect(first).toMatchObject({ code: 0, error: "" });
    const file = join(cwd, "other-key");
    await writeFile(file, OTHER.toString("hex"));
    const command = `${process.execPath} -p Buffer.alloc(32,8).toString("hex")`;
    for (const [env, from] of [
      [{ STACKWRIGHT_KEY: OTHER.toString("base64") }, "of STACKWRIGHT_KEY."],
      [{ STACKWRIGHT_KEY_FILE: "other-key" }, `of STACKWRIGHT_KEY_FILE (${file}).`],
      [{ STACKWRIGHT_KEY_COMMAND: command }, "of STACKWRIGHT_KEY_COMMAND."],
    ] as const) {
      for (const words of [["up", "--yes"], ["plan"], ["show"]]) {
        const { code, error } = await run(env, ...words);
        // What is not sensitive can be read without the key.
        expect(code).toBe(words[0] === "show" ? 0 : 1);
        expect(error).toContain(`the key-encryption key ${idOf(KEY)}, which was not given`);
        expect(error).toContain(`The key ${idOf(OTHER)} was used, ${from}`);
        expect(error).toMatch(/STACKWRIGHT_KEY_FILE or STACKWRIGHT_KEY_COMMAND, else from the/);
        expect(error).toContain("All who share a stack need the same key");
        expect(error).not.toContain(OTHER.toString("base64"));
      }
    }
    const reader = await run({}, "show");
    expect(reader.error).toContain(
      `No key was given, and the file ${join(cwd, ".stackwright/key")} does`,
    );
    const json = await run({}, "plan", "--json");
    expect(json.output).toContain(".stackwright/key");
  });

  it("reports a key file that was lost, and makes none in its place", async () => {
    await using made = await project();
    const { cwd, run } = made;
    await run({}, "up", "--yes");
    const path = join(cwd, ".stackwright", "key");
    const key = await readFile(path);
    await rm(path);
    for (const words of [["up", "--yes"], ["plan"], ["keys", "rotate"]]) {
      const { code, error } = await run({}, ...words);
      expect(code).toBe(1);
      expect(error).toContain(`the file ${path} does not exist`);
      expect(error).toContain("All who share a stack need the same key");
    }
    await expect(readFile(path)).rejects.toThrow("ENOENT");
    await writeFile(path, key);
    expect(await run({}, "up", "--yes")).toMatchObject({ code: 0 });
  });

  it("makes a key file for a stack of its own beside one whose key is elsewhere", async () => {
    await using made = await project();
    const { cwd, run } = made;
    const env = { STACKWRIGHT_KEY: KEY.toString("base64") };
    expect(await run(env, "up", "--yes")).toMatchObject({ code: 0 });
    expect(await run({}, "up", "--yes", "--stack", "other")).toMatchObject({ code: 0 });
    expect((await readFile(join(cwd, ".stackwright", "key"))).length).toBeGreaterThan(32);
  });

  it.each([
    [{ STACKWRIGHT_KEY: "short" }, "32 bytes in base64", "from STACKWRIGHT_KEY."],
    [{ STACKWRIGHT_KEY_FILE: "none" }, "cannot be read", "from STACKWRIGHT_KEY_FILE ("],
  ])("names the source of a key that is none: %j", async (env, message, source) => {
    await using made = await project();
    const { code, error } = await made.run(env, "up", "--yes");
    expect(code).toBe(1);
    expect(error).toContain(message);
    expect(error).toContain(`The key was to come ${source}`);
  });
});
