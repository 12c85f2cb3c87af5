import { cp, mkdtempDisposable, open, readFile, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runSpawned } from "../testing/spawned-command.ts";

// Files of a folder decay, or are cut off by a disk that was full. Each command says which one, and what to do; no file becomes another one.

const CONFIGURATION = `
resource "terraform_data" "one" {
  input = "kept"
}
`;

let original: string;

beforeAll(async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "damaged-"));
  original = scratch.path;
  await writeFile(join(original, "main.tf"), CONFIGURATION);
  for (const words of [
    ["up", "--yes"],
    ["plan", "--out", "saved"],
  ]) {
    const made = await runSpawned(words, { cwd: original });
    expect(made.code, made.text).toBe(0);
  }
  return async () => scratch.remove();
});

/** Bytes that are no text and no database. */
const NOISE = Buffer.from(Array.from({ length: 64 }, (_, index) => 0x80 + index));

async function overwrite(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.write(NOISE, 0, NOISE.length, 0);
}

interface Damage {
  readonly what: string;
  readonly file: string;
  readonly damage: (path: string) => Promise<void>;
  readonly words: readonly string[];
  /** What the reader can do. */
  readonly says: RegExp;
}

const UP = ["up", "--yes"];
const DAMAGES: readonly Damage[] = [
  {
    what: "a store whose header is overwritten",
    file: ".stackwright/store/store.db",
    damage: overwrite,
    words: UP,
    says: /restore it from a backup/,
  },
  {
    what: "a store without content",
    file: ".stackwright/store/store.db",
    damage: async (path) => truncate(path),
    words: UP,
    says: /restore it from a backup/,
  },
  {
    what: "a store that is cut off",
    file: ".stackwright/store/store.db",
    damage: async (path) => truncate(path, 5_000),
    words: ["plan"],
    says: /restore it from a backup/,
  },
  {
    what: "the lock of a store",
    file: ".stackwright/store/writer.lock",
    damage: async (path) => writeFile(path, NOISE),
    words: UP,
    says: /delete it while no process uses the store/,
  },
  {
    what: "the key",
    file: ".stackwright/key",
    damage: async (path) => writeFile(path, NOISE),
    words: UP,
    says: /32 bytes in base64 or hexadecimal/,
  },
  {
    what: "a key without content",
    file: ".stackwright/key",
    damage: async (path) => truncate(path),
    words: UP,
    says: /32 bytes in base64 or hexadecimal/,
  },
  {
    what: "a plan",
    file: "saved",
    damage: overwrite,
    words: ["apply", "saved"],
    says: /Make one with: stackwright plan --out/,
  },
  {
    what: "a plan whose text has decayed",
    file: "saved",
    damage: async (path) => {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace(/("stack": ")./, "$1\\u0000"));
    },
    words: ["apply", "saved"],
    says: /Make one with: stackwright plan --out/,
  },
  {
    what: "the lock file of providers",
    file: ".terraform.lock.hcl",
    damage: async (path) => {
      await writeFile(path, NOISE);
      const needed = 'required_providers {\n one = { source = "example.com/a/one" }\n}';
      await writeFile(join(path, "../provider.tf"), `terraform {\n${needed}\n}\n`);
    },
    words: UP,
    says: /not UTF-8 text/,
  },
];

describe("damage is said with its place, and nothing is made anew in its place", {
  retry: 0,
}, () => {
  it.concurrent.each(DAMAGES)("$what", async ({ file, damage, words, says }) => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "damaged-"));
    await cp(original, scratch.path, { recursive: true });
    const path = join(scratch.path, file);
    await damage(path);
    const before = await readFile(path);
    const { code, text } = await runSpawned(words, { cwd: scratch.path });
    expect(code, text).toBe(1);
    expect(text).toContain(file);
    expect(text).toMatch(says);
    expect(text).not.toMatch(/^\s+at /m);
    expect(await readFile(path)).toEqual(before);
  });
});
