import { StackKeys } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { decodeKind, STATE_KINDS, stackResourceId } from "./kinds.ts";
import { createStoredKeys } from "./stack-keys.ts";

const OLD = keyEncryptionKey(new Uint8Array(32).fill(1));
const NEW = keyEncryptionKey(new Uint8Array(32).fill(2));
const OTHER = { ...TEST_STACK, stack: "01J9ZC0000000000000000THER" };

function start() {
  const storage = createMemoryStorage();
  const keysWith = (current = OLD, former: readonly (typeof OLD)[] = []) =>
    createStoredKeys({ storage, current, former, wallMs: () => 1_234.5 });
  const version = async () =>
    (await storage.read("strong", stackResourceId(TEST_STACK, STATE_KINDS.keys))).version;
  return { storage, keysWith, version };
}

describe("the list of data keys", () => {
  it("says which one encrypts, since when, and by what it is encrypted", async () => {
    const { keysWith } = start();
    await keysWith().ensure(TEST_STACK);
    expect(await keysWith().rotate(TEST_STACK)).toBe(2);
    const key = { createdAtMs: 1_234, wrappedBy: OLD.id, isReadable: true };
    expect(await keysWith().list(TEST_STACK)).toEqual([
      { ...key, number: 1, isCurrent: false },
      { ...key, number: 2, isCurrent: true },
    ]);
  });

  it("is there without the key-encryption key, and says so", async () => {
    const { keysWith } = start();
    await keysWith().ensure(TEST_STACK);
    expect(await keysWith(NEW).list(TEST_STACK)).toMatchObject([
      { wrappedBy: OLD.id, isReadable: false },
    ]);
  });

  it("is empty where there is none", async () => {
    const { keysWith } = start();
    expect(await keysWith().list(TEST_STACK)).toEqual([]);
    expect(await keysWith().load(TEST_STACK)).toBeUndefined();
  });

  it("says that a key is not readable whose bytes belong to another stack", async () => {
    const { storage, keysWith } = start();
    await keysWith().ensure(OTHER);
    const { data } = await storage.read("strong", stackResourceId(OTHER, STATE_KINDS.keys));
    await keysWith().ensure(TEST_STACK);
    const own = await storage.read("strong", stackResourceId(TEST_STACK, STATE_KINDS.keys));
    await storage.writeCAS({ ...own, ...(data !== undefined && { data }) });
    expect(await keysWith().list(TEST_STACK)).toMatchObject([{ isReadable: false }]);
    await expect(keysWith().dataKeys(TEST_STACK)).rejects.toMatchObject({
      code: "ENGINE_STATE_CORRUPT",
    });
  });

  it("has no time where an earlier release recorded none", async () => {
    const { storage, keysWith } = start();
    await keysWith().ensure(TEST_STACK);
    const id = stackResourceId(TEST_STACK, STATE_KINDS.keys);
    const stored = await storage.read("strong", id);
    const { keys } = decodeKind(stored, StackKeys);
    const old = StackKeys.create({ keys: keys.map((key) => ({ ...key, createdAtMs: 0n })) });
    const value = StackKeys.encode(old).finish();
    await storage.writeCAS({ ...stored, data: { typeUrl: stored.data?.typeUrl ?? "", value } });
    expect((await keysWith().list(TEST_STACK))[0]?.createdAtMs).toBeUndefined();
  });
});

describe("a rotation", () => {
  it("begins with the first key", async () => {
    const { keysWith } = start();
    expect(await keysWith().rotate(TEST_STACK)).toBe(1);
    expect(await keysWith().rotate(TEST_STACK)).toBe(2);
  });

  it("adds a key for each of two processes at once", async () => {
    const { keysWith } = start();
    await keysWith().ensure(TEST_STACK);
    const numbers = await Promise.all([1, 2, 3].map(async () => keysWith().rotate(TEST_STACK)));
    expect(new Set(numbers)).toEqual(new Set([2, 3, 4]));
    expect(await keysWith().dataKeys(TEST_STACK)).toHaveLength(4);
  });

  it("encrypts with the new key from then on, and decrypts with the old one", async () => {
    const { keysWith } = start();
    const sealed = (await keysWith().ensure(TEST_STACK)).seal(Buffer.from("x"), "c");
    await keysWith().rotate(TEST_STACK);
    const cipher = await keysWith().ensure(TEST_STACK);
    expect(Buffer.from(cipher.open(sealed, "c")).toString()).toBe("x");
    expect(cipher.seal(Buffer.from("x"), "c")[4]).toBe(2);
  });

  it("changes nothing where an older key is not readable", async () => {
    const { keysWith, version } = start();
    await keysWith().ensure(TEST_STACK);
    await keysWith().rotate(TEST_STACK);
    const before = await version();
    await expect(keysWith(NEW).rotate(TEST_STACK)).rejects.toMatchObject({
      code: "ENGINE_KEY_UNAVAILABLE",
      message: `data keys 1, 2 of the stack need the key-encryption key ${OLD.id}, which was not given`,
    });
    expect(await version()).toBe(before);
  });
});

describe("a rewrap", () => {
  it("changes the keys of other key-encryption keys alone, and says which", async () => {
    const { keysWith } = start();
    await keysWith().ensure(TEST_STACK);
    await keysWith(NEW, [OLD]).rotate(TEST_STACK);
    const before = await keysWith(NEW, [OLD]).dataKeys(TEST_STACK);
    expect(await keysWith(NEW, [OLD]).rewrap(TEST_STACK)).toEqual([1]);
    expect(await keysWith(NEW).dataKeys(TEST_STACK)).toEqual(before);
    const createdAtMs = (await keysWith(NEW).list(TEST_STACK)).map((key) => key.createdAtMs);
    expect(createdAtMs).toEqual([1_234, 1_234]);
  });

  it("writes nothing where all are of the current one", async () => {
    const { keysWith, version } = start();
    await keysWith().ensure(TEST_STACK);
    const before = await version();
    expect(await keysWith().rewrap(TEST_STACK)).toEqual([]);
    expect(await version()).toBe(before);
  });

  it("names each key-encryption key that is missing", async () => {
    const { keysWith } = start();
    const third = keyEncryptionKey(new Uint8Array(32).fill(3));
    await keysWith().ensure(TEST_STACK);
    await keysWith(third, [OLD]).rotate(TEST_STACK);
    const text = `data key 1 of the stack needs the key-encryption key ${OLD.id}, which was not given; data key 2 of the stack needs the key-encryption key ${third.id}, which was not given`;
    await expect(keysWith(NEW).rewrap(TEST_STACK)).rejects.toThrow(text);
  });
});

describe("keys that are stored with what they encrypt", () => {
  it("are a first one where there is none, which nothing has written yet", () => {
    const { keysWith } = start();
    const { cipher, stored } = keysWith().withFirst(TEST_STACK, StackKeys.create({}));
    expect(stored.keys.map(({ number, wrappedBy }) => [number, wrappedBy])).toEqual([[1, OLD.id]]);
    const sealed = cipher.seal(Buffer.from("x"), "c");
    const again = keysWith().withFirst(TEST_STACK, stored);
    expect(again.stored).toBe(stored);
    expect(Buffer.from(again.cipher.open(sealed, "c")).toString()).toBe("x");
  });

  it("are not readable for another stack", () => {
    const { keysWith } = start();
    const { stored } = keysWith().withFirst(TEST_STACK, StackKeys.create({}));
    expect(() => keysWith().withFirst(OTHER, stored)).toThrow(
      expect.objectContaining({ code: "ENGINE_STATE_CORRUPT" }),
    );
  });
});

it("the key-encryption keys that were given are named, the current one last", () => {
  expect(start().keysWith(NEW, [OLD]).keyIds).toEqual([OLD.id, NEW.id]);
});

it("another error of the store is passed on", async () => {
  const { storage } = start();
  const signal = AbortSignal.abort(new Error("enough"));
  const keys = createStoredKeys({ storage, current: OLD });
  await expect(keys.ensure(TEST_STACK, { signal })).rejects.toThrow("enough");
});
