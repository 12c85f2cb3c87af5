import { Path } from "@stackwright/cty";
import { StateObject as WireObject } from "@stackwright/proto/stackwright";
import { describe, expect, it } from "vitest";
import { createStackCipher, type StackCipher } from "../secrets/stack-cipher.ts";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { edge, plan } from "../testing/state-content.ts";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { blobsOf } from "./content.ts";
import { contentsOf, decodeObject, encodeObject, type StoredPieces } from "./object-codec.ts";
import {
  NOTE_PIECE_BYTES,
  type ObjectOperation,
  type RecordedValue,
  type StateObject,
} from "./state-object.ts";

const SECRET = "canary-3f7a";
const bytes = (text: string): Uint8Array => Buffer.from(text);
const cipherOf = (number = 1): StackCipher =>
  createStackCipher([{ number, bytes: new Uint8Array(32).fill(number) }]);

const VALUE: RecordedValue = { schemaVersion: 3, json: '{"id":"x"}', sensitive: [] };
const OBJECT: StateObject = {
  address: "t.a",
  deposed: "",
  ...plan("t.b"),
  phase: "ready",
  value: VALUE,
  privateBytes: new Uint8Array(),
  observedAtMs: 1_234,
  epoch: 5n,
  revision: 6n,
  aliases: [],
};
const OPERATION: ObjectOperation = {
  id: "op",
  kind: "update",
  started: true,
  run: "R",
  epoch: 4n,
  replace: false,
};

/** One store; what is encoded there is sent through bytes before it is decoded. */
function start(cipher: StackCipher = cipherOf()) {
  const blobs = new MemoryBlobs();
  const pieces: StoredPieces = new WeakMap();
  const asked = { times: 0 };
  const ask = async () => {
    asked.times += 1;
    return Promise.resolve(cipher);
  };
  const encode = async (object: StateObject, reference = TEST_STACK) =>
    WireObject.decode(
      WireObject.encode(
        await encodeObject(object, { reference, blobs, cipher: ask, pieces }),
      ).finish(),
    );
  const decode = async (message: WireObject, keys: StackCipher | undefined = cipher) =>
    decodeObject(message, {
      reference: TEST_STACK,
      blobs,
      cipher: async () => Promise.resolve(keys),
    });
  const decodeLocked = async (message: WireObject) =>
    decodeObject(message, {
      reference: TEST_STACK,
      blobs,
      cipher: async () => Promise.resolve(undefined),
    });
  return { blobs, encode, decode, decodeLocked, asked };
}

/** An object as it comes back from a store. */
async function stored(object: StateObject): Promise<StateObject> {
  const { encode, decode } = start();
  return decode(await encode(object));
}

describe("an object in the store", () => {
  it.each<[string, Partial<StateObject>]>([
    ["nothing more", {}],
    [
      "everything about its settings",
      { createBeforeDestroy: true, mode: "data", aliases: ["t.x", "t.y"], deposed: "0123abcd" },
    ],
    ["a taint", { phase: "tainted" }],
    ["an identity", { identity: { schemaVersion: 2, json: '{"id":"i"}' } }],
    ["private bytes", { privateBytes: bytes("private") }],
    ["notes", { notes: [bytes("a"), bytes("b")] }],
    ["the writer of its value", { value: { ...VALUE, writer: "h1:x" } }],
    [
      "each kind of dependency",
      {
        dependencies: [
          edge("t.b"),
          { address: "t.c", scope: "resource", kind: "explicit" },
          { address: "t.d", scope: "instance", kind: "provider" },
          { address: "t.e", scope: "instance", kind: "parent" },
          { address: "t.f", scope: "resource", kind: "deletedWith" },
        ],
      },
    ],
    ["a plain operation", { phase: "updating", operation: OPERATION }],
    [
      "an operation with all that it may have",
      {
        phase: "unresolved",
        operation: {
          ...OPERATION,
          kind: "delete",
          replace: true,
          tainted: true,
          deposed: "0123abcd",
          problem: "lost",
          probe: {
            importId: "i-1",
            identity: { schemaVersion: 1, json: "{}" },
            hint: "look",
          },
          sensitive: [Path.root.attribute("tags").index("owner"), Path.root],
        },
      },
    ],
    [
      "a create that was not begun, and a probe of a hint alone",
      {
        phase: "creating",
        operation: { ...OPERATION, kind: "create", started: false, probe: { hint: "look" } },
      },
    ],
    ["the phase of a delete", { phase: "deleting", operation: OPERATION }],
  ])("comes back with %s", async (_what, more) => {
    const object = { ...OBJECT, ...more };
    expect(await stored(object)).toStrictEqual(object);
  });

  it("comes back without a value", async () => {
    const { value: _value, ...bare } = OBJECT;
    const creating: StateObject = {
      ...bare,
      phase: "creating",
      operation: { ...OPERATION, kind: "create" },
    };
    expect(await stored(creating)).toStrictEqual(creating);
  });

  it("asks for no key where it has no secret", async () => {
    const { encode, asked } = start();
    await encode(OBJECT);
    expect(asked.times).toBe(0);
  });

  it("is refused where it has a phase of a newer release", async () => {
    const { encode, decode } = start();
    const message = await encode(OBJECT);
    await expect(decode({ ...message, phase: 99 as WireObject["phase"] })).rejects.toMatchObject({
      code: "ENGINE_STATE_CORRUPT",
      message: "the stored object t.a was written by a newer release",
      details: { addresses: ["t.a"] },
    });
  });

  it("is refused where it has no provider", async () => {
    const { encode, decode } = start();
    const message = { ...(await encode(OBJECT)), provider: undefined };
    await expect(decode(message)).rejects.toThrow("the stored object t.a has no provider");
  });
});

describe("the secrets of an object in the store", () => {
  const sensitive = [
    Path.root.attribute("password"),
    Path.root.attribute("list").index(1),
    Path.root.attribute("map").index("key"),
  ];
  const secret: RecordedValue = {
    schemaVersion: 3,
    json: `{"password":"${SECRET}","list":["a","${SECRET}-1"],"map":{"key":"${SECRET}-2"},"id":"x"}`,
    sensitive,
  };
  const object: StateObject = { ...OBJECT, value: secret };

  it("come back at their places, and are not in the message", async () => {
    const { encode, decode } = start();
    const message = await encode(object);
    expect(Buffer.from(WireObject.encode(message).finish()).includes(SECRET)).toBe(false);
    const found = await decode(message);
    expect(found.value?.json).toBe(object.value?.json);
    expect(found.value?.sensitive.map(String)).toEqual(sensitive.map(String));
    expect(found.value).not.toHaveProperty("omitted");
  });

  it("are encrypted also where a provider repeats them in another attribute", async () => {
    const { encode, decode } = start();
    const json = `{"password":"${SECRET}","url":"http://user:${SECRET}@host"}`;
    const repeated = {
      ...object,
      value: { schemaVersion: 0, json, sensitive: [Path.root.attribute("password")] },
    };
    const message = await encode(repeated);
    expect(Buffer.from(WireObject.encode(message).finish()).includes(SECRET)).toBe(false);
    const found = await decode(message);
    expect(found.value?.json).toBe(json);
    expect(found.value?.sensitive.map(String)).toEqual([".password"]);
  });

  it("are left out where there is no key, with their places", async () => {
    const { encode, decodeLocked } = start();
    const { value } = await decodeLocked(
      await encode({ ...object, value: { ...secret, writer: "h1:x" } }),
    );
    expect(value).toStrictEqual({
      schemaVersion: 3,
      json: '{"password":null,"list":["a",null],"map":{"key":null},"id":"x"}',
      sensitive: value?.sensitive,
      writer: "h1:x",
      omitted: [["password"], ["list", 1], ["map", "key"]],
    });
  });

  it("are not written over by a value that was read without them", async () => {
    const { encode, decodeLocked } = start();
    const locked = await decodeLocked(await encode(object));
    await expect(encode(locked)).rejects.toMatchObject({
      code: "ENGINE_STATE_CORRUPT",
      message: "the stored object t.a was read without its secrets",
    });
  });

  it("are no private bytes and notes where there is no key", async () => {
    const { encode, decodeLocked } = start();
    const message = await encode({ ...OBJECT, privateBytes: bytes("p"), notes: [bytes("n")] });
    const found = await decodeLocked(message);
    expect(found.privateBytes).toHaveLength(0);
    expect(found).not.toHaveProperty("notes");
  });

  it.each<[string, Partial<WireObject>]>([
    ["another address", { address: "t.b" }],
    ["a deposed key", { deposed: "0123abcd" }],
  ])("are not readable in an object with %s", async (_what, place) => {
    const { encode, decode } = start();
    for (const part of [
      object,
      { ...OBJECT, privateBytes: bytes("p") },
      { ...OBJECT, notes: [bytes("n")] },
    ]) {
      const message = { ...(await encode(part)), ...place };
      await expect(decode(message)).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
    }
  });

  it("are not readable in another stack", async () => {
    const { encode, decode } = start();
    const other = { ...TEST_STACK, stack: "01J9ZC0000000000000000THER" };
    await expect(decode(await encode(object, other))).rejects.toMatchObject({
      code: "ENGINE_STATE_CORRUPT",
    });
  });

  it("do not go to another place of the value, or of the notes", async () => {
    const { encode, decode } = start();
    const message = await encode({ ...object, notes: [bytes("one"), bytes("two")] });
    const swapped = { ...message, notes: message.notes.toReversed() };
    await expect(decode(swapped)).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
    const parts = message.value?.sealed ?? [];
    expect(parts).toHaveLength(3);
    const sealed = parts.map(({ at }, position) => ({
      at,
      sealed: parts.at(-1 - position)?.sealed,
    }));
    const crossed = { ...message, value: message.value && { ...message.value, sealed } };
    await expect(decode(crossed)).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
  });

  it("are refused where the text has no place for them", async () => {
    const { encode, decode } = start();
    const message = await encode(object);
    const json = { place: { $case: "inline", value: bytes('{"id":"x"}') } } as const;
    const moved = { ...message, value: message.value && { ...message.value, json } };
    await expect(decode(moved)).rejects.toMatchObject({
      code: "ENGINE_STATE_CORRUPT",
      message: "the stored object t.a has secrets without a place",
      cause: expect.any(SyntaxError) as Error,
    });
  });
});

describe("the blobs of an object", () => {
  it("are those of its value, its secrets, its private bytes and its notes", async () => {
    const { encode } = start();
    const message = await encode({
      ...OBJECT,
      value: {
        schemaVersion: 0,
        json: JSON.stringify({ id: "x".repeat(70_000), password: "y".repeat(70_000) }),
        sensitive: [Path.root.attribute("password")],
      },
      privateBytes: new Uint8Array(70_000),
      notes: [new Uint8Array(NOTE_PIECE_BYTES)],
    });
    expect(blobsOf(contentsOf(message))).toHaveLength(4);
  });

  it("are none where it is small", async () => {
    const { encode } = start();
    const message = await encode({ ...OBJECT, privateBytes: bytes("p"), notes: [bytes("n")] });
    expect(contentsOf(message)).toHaveLength(3);
    expect(blobsOf(contentsOf(message))).toEqual([]);
  });
});

describe("a piece of notes", () => {
  const full = new Uint8Array(NOTE_PIECE_BYTES).fill(65);

  it("that is complete is stored once, by itself", async () => {
    const { encode, blobs } = start();
    const first = await encode({ ...OBJECT, notes: [full] });
    const again = await encode({ ...OBJECT, notes: [full, bytes("b")] });
    expect(again.notes[0]).toEqual(first.notes[0]);
    expect([...blobs.contents()]).toHaveLength(1);
    expect(again.notes[1]?.place?.$case).toBe("inline");
  });

  it("that is small is complete once another one follows", async () => {
    const { encode } = start();
    const message = await encode({ ...OBJECT, notes: [bytes("a"), bytes("b")] });
    expect(message.notes.map(({ place }) => place?.$case)).toEqual(["blob", "inline"]);
  });

  it("is encrypted anew for another place of the object", async () => {
    const { encode, decode } = start();
    await encode({ ...OBJECT, notes: [full] });
    const moved = await decode(await encode({ ...OBJECT, address: "t.new", notes: [full] }));
    expect(moved.notes).toEqual([Buffer.from(full)]);
  });
});
