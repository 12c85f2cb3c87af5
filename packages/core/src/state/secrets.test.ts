import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mark, Path, Type, Value } from "@stackwright/cty";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { keyEncryptionKey, loadKey } from "../secrets/key-encryption.ts";
import { createStackCipher } from "../secrets/stack-cipher.ts";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { recordValue, restoreValue } from "./record-value.ts";
import { createStoredKeys, delegatedKeys } from "./stack-keys.ts";

const KEY = new Uint8Array(32).fill(3);

describe("recording a value", () => {
  const type = Type.object({
    a: Type.list(Type.string),
    s: Type.set(Type.string),
    d: Type.dynamic,
  });
  const value = Value.object({
    a: Value.list([Value.string("x"), Value.string("y").mark(Mark.sensitive)]),
    s: Value.set([Value.string("e").mark(Mark.sensitive)]),
    d: Value.object({ deep: Value.number(1).mark(Mark.sensitive) }),
  });

  it("keeps secret parts as paths and gives them their marks back", () => {
    const recorded = recordValue(value, type, { schemaVersion: 3 });
    expect(recorded.sensitive.map(String)).toEqual([".a[1]", ".d.deep", ".s"]);
    expect(restoreValue(recorded, type).rawEquals(value)).toBe(true);
  });

  it("adds what a schema says, each path once, also one within another", () => {
    const list = Path.root.attribute("a");
    const element = Value.object({ name: Value.string("e") });
    const sensitive = [list, Path.root.attribute("s").index(element), list];
    const recorded = recordValue(value, type, { schemaVersion: 0, sensitive });
    expect(recorded.sensitive.map(String)).toEqual([".a", ".a[1]", ".d.deep", ".s"]);
  });

  it("gives marks within marks back as they were", () => {
    const nested = Value.object({
      ...Object.fromEntries(value.entries()),
      a: Value.list([Value.string("x"), Value.string("y").mark(Mark.sensitive)]).mark(
        Mark.sensitive,
      ),
    });
    const recorded = recordValue(nested, type, { schemaVersion: 0 });
    expect(restoreValue(recorded, type).rawEquals(nested)).toBe(true);
  });

  it("refuses ephemeral and unknown values", () => {
    const object = Type.object({ a: Type.string });
    const ephemeral = Value.object({ a: Value.string("x").mark(Mark.ephemeral) });
    expect(() => recordValue(ephemeral, object, { schemaVersion: 0 })).toThrow(
      expect.objectContaining({ code: "ENGINE_SECRET_EXPOSED" }),
    );
    const unknown = Value.object({ a: Value.unknown(Type.string) });
    expect(() => recordValue(unknown, object, { schemaVersion: 0 })).toThrow();
  });
});

describe("a stack's cipher", () => {
  const cipher = createStackCipher([{ number: 1, bytes: KEY }]);
  const sealed = cipher.seal(Buffer.from("hunter2"), "here");

  it("returns what it was given, and never the same bytes twice", () => {
    expect(Buffer.from(cipher.open(sealed, "here")).toString()).toBe("hunter2");
    expect(Buffer.from(cipher.seal(Buffer.from("hunter2"), "here")).equals(sealed)).toBe(false);
  });

  it("refuses bytes that were changed or moved", () => {
    expect(() => cipher.open(sealed, "there")).toThrow(
      expect.objectContaining({ code: "ENGINE_STATE_CORRUPT" }),
    );
    for (let index = 5; index < sealed.length; index += 1) {
      const changed = Uint8Array.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => cipher.open(changed, "here")).toThrow();
    }
  });

  it("needs the key that encrypted", () => {
    const newer = createStackCipher([{ number: 2, bytes: KEY }]);
    expect(() => newer.open(sealed, "here")).toThrow(
      expect.objectContaining({ code: "ENGINE_KEY_UNAVAILABLE" }),
    );
  });
});

describe("data keys in a store", () => {
  const current = keyEncryptionKey(KEY);
  const next = keyEncryptionKey(new Uint8Array(32).fill(4));

  it("are made once, however many ask at the same time", async () => {
    await using storage = createMemoryStorage();
    const keys = createStoredKeys({ storage, current });
    const ciphers = await Promise.all([1, 2, 3, 4].map(() => keys.ensure(TEST_STACK)));
    const sealed = ciphers[0]?.seal(Buffer.from("x"), "c") ?? new Uint8Array();
    for (const cipher of ciphers)
      expect(Buffer.from(cipher.open(sealed, "c")).toString()).toBe("x");
    expect(await keys.dataKeys(TEST_STACK)).toHaveLength(1);
  });

  it("are rotated, and rewrapped for another key-encryption key", async () => {
    await using storage = createMemoryStorage();
    const keys = createStoredKeys({ storage, current });
    const old = (await keys.ensure(TEST_STACK)).seal(Buffer.from("old"), "c");
    await keys.rotate(TEST_STACK);
    const both = createStoredKeys({ storage, current: next, former: [current] });
    await both.rewrap(TEST_STACK);
    const alone = createStoredKeys({ storage, current: next });
    const cipher = await alone.ensure(TEST_STACK);
    expect(Buffer.from(cipher.open(old, "c")).toString()).toBe("old");
    expect((await alone.dataKeys(TEST_STACK)).map(({ number }) => number)).toEqual([1, 2]);
    await expect(keys.load(TEST_STACK)).rejects.toMatchObject({ code: "ENGINE_KEY_UNAVAILABLE" });
    const lent = delegatedKeys(() => [{ number: 1, bytes: KEY }]);
    expect((await lent.load(TEST_STACK)) === undefined).toBe(false);
    const nothing = delegatedKeys(() => []);
    await expect(nothing.ensure(TEST_STACK)).rejects.toMatchObject({
      code: "ENGINE_KEY_UNAVAILABLE",
    });
  });

  it("lie encrypted", async () => {
    await using storage = createMemoryStorage();
    const keys = createStoredKeys({ storage, current });
    await keys.ensure(TEST_STACK);
    const [key] = await keys.dataKeys(TEST_STACK);
    await using snapshot = await storage.snapshot();
    for await (const resource of snapshot) {
      const stored = Buffer.from(resource.data?.value ?? []);
      expect(stored.includes(Buffer.from(key?.bytes ?? []))).toBe(false);
    }
  });
});

describe("a key-encryption key", () => {
  const text = Buffer.from(KEY).toString("base64");

  it("comes from a file, the environment or a command", async () => {
    const directory = await mkdtemp(join(tmpdir(), "key-"));
    try {
      const path = join(directory, "key");
      await writeFile(path, `${text}\n`);
      const script = join(directory, "print");
      await writeFile(script, `#!/bin/sh\nprintf %s ${Buffer.from(KEY).toString("hex")}\n`);
      await chmod(script, 0o700);
      const keys = await Promise.all([
        loadKey({ kind: "file", path }),
        loadKey({ kind: "environment", variable: "K", env: { K: text } }),
        loadKey({ kind: "command", file: script }),
      ]);
      for (const key of keys) expect(key).toEqual(keyEncryptionKey(KEY));
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it.each([
    { kind: "file", path: "/nonexistent/key" },
    { kind: "environment", variable: "K", env: {} },
    { kind: "environment", variable: "K", env: { K: "short" } },
    { kind: "command", file: "/nonexistent/command" },
  ] as const)("is refused without being shown: %o", async (source) => {
    await expect(loadKey(source)).rejects.toMatchObject({ code: "ENGINE_KEY_UNAVAILABLE" });
  });
});
