import { describe, expect, it } from "vitest";
import type { EncryptionSettings } from "../encryption/encryption-method.ts";
import { TfstateError } from "../errors.ts";
import { encryptedBackend } from "./encrypted-backend.ts";
import type { StateBackend } from "./state-backend.ts";

const PLAIN = Buffer.from('{"version":4,"serial":7,"lineage":"line","secret":"canary"}');
const KEYS = "key_provider.pbkdf2.k";
const METHOD = "method.aes_gcm.m";
const OPEN = "method.unencrypted.o";

function settings({
  passphrase = "correct horse battery",
  provider = "pbkdf2",
  aad,
  state = [METHOD],
  values = {},
}: {
  readonly passphrase?: string;
  readonly provider?: string;
  readonly aad?: readonly number[];
  readonly state?: readonly string[];
  readonly values?: Readonly<Record<string, unknown>>;
} = {}): EncryptionSettings {
  const part = { name: "x", references: new Map<string, string>() };
  return {
    keyProviders: new Map([
      [KEYS, { ...part, type: provider, values: { passphrase, iterations: 200_000, ...values } }],
    ]),
    methods: new Map([
      [
        METHOD,
        {
          ...part,
          type: "aes_gcm",
          values: aad === undefined ? {} : { aad },
          references: new Map([["keys", KEYS]]),
        },
      ],
      [OPEN, { ...part, type: "unencrypted", values: {} }],
    ]),
    state,
  };
}

/** A backend in memory, whose stored bytes are at hand. */
function memory(stored?: Uint8Array) {
  const kept = { bytes: stored };
  const backend: StateBackend = {
    type: "memory",
    place: () => "memory",
    workspaces: async () => ["default"],
    read: async () => kept.bytes,
    write: async (_workspace, bytes) => {
      kept.bytes = bytes;
    },
    lock: async (_workspace, { ID }) => ({
      id: ID,
      outlivesProcess: false,
      release: async () => undefined,
    }),
    retire: async (_workspace, suffix, marker) => {
      kept.bytes = marker;
      return suffix;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const open = (given: EncryptionSettings = settings()): StateBackend =>
    encryptedBackend(backend, () => given);
  return { kept, open };
}

async function stored(given = settings()): Promise<Uint8Array> {
  const { kept, open } = memory();
  await open(given).write("default", PLAIN);
  return kept.bytes ?? PLAIN;
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof TfstateError ? error.code : String(error)),
  );

describe("a backend with encrypted states", () => {
  it("stores what it writes encrypted, under a fresh salt, and reads it", async () => {
    const bytes = await stored();
    expect(Buffer.from(bytes).toString()).not.toContain("canary");
    expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({
      serial: 7,
      lineage: "line",
      encryption_version: "v0",
    });
    expect(await stored()).not.toEqual(bytes);
    expect(await memory(bytes).open().read("default")).toEqual(PLAIN);
  });

  it.each([16, 24, 32])("has keys of %i bytes", async (size) => {
    const given = settings({ values: { key_length: size, hash_function: "sha256" } });
    expect(
      await memory(await stored(given))
        .open()
        .read("default"),
    ).toEqual(PLAIN);
  });

  it("refuses a state in the clear, unless its method or a fallback is unencrypted", async () => {
    const error = await memory(PLAIN)
      .open()
      .read("default")
      .catch((found: unknown) => found);
    expect(error).toMatchObject({ code: "TFSTATE_STATE_NOT_ENCRYPTED" });
    expect(String(error)).toContain("fallback");
    expect(String(error)).not.toContain("canary");
    // A marker with the version of a state is a state.
    const forged = Buffer.from('{"version":4,"adopted_stack":"x","resources":[]}');
    expect(await codeOf(memory(forged).open().read("default"))).toBe("TFSTATE_STATE_NOT_ENCRYPTED");
    const marker = Buffer.from('{"version":99,"adopted_stack":"x"}');
    expect(await memory(marker).open().read("default")).toEqual(marker);
    for (const state of [[OPEN], [METHOD, OPEN], []]) {
      expect(await memory(PLAIN).open(settings({ state })).read("default")).toEqual(PLAIN);
    }
  });

  it("writes the state encrypted that a fallback read in the clear", async () => {
    const { kept, open } = memory(PLAIN);
    const moving = settings({ state: [METHOD, OPEN] });
    expect(await open(moving).read("default")).toEqual(PLAIN);
    await open(moving).write("default", PLAIN);
    expect(Buffer.from(kept.bytes ?? []).toString()).not.toContain("canary");
  });

  it("reads by a fallback, and writes by the method", async () => {
    const { kept, open } = memory(await stored());
    const given = settings({ state: [OPEN, METHOD] });
    expect(await open(given).read("default")).toEqual(PLAIN);
    await open(given).write("default", PLAIN);
    expect(kept.bytes).toEqual(PLAIN);
  });

  it.each([
    ["another passphrase", settings({ passphrase: "another passphrase" })],
    ["other additional data", settings({ aad: [1] })],
    ["another name of the keys", settings({ values: { encrypted_metadata_alias: "other" } })],
    ["no method", settings({ state: [] })],
  ])("does not read with %s, and shows no passphrase", async (_, given) => {
    const error = await memory(await stored())
      .open(given)
      .read("default")
      .catch((found: unknown) => found);
    expect(error).toMatchObject({ code: "TFSTATE_STATE_ENCRYPTED" });
    expect(String(error)).not.toMatch(/passphrase"? *:|another passphrase|correct horse/);
  });

  it("never replaces an encrypted state, or the marker of one, with one in the clear", async () => {
    const { kept, open } = memory(await stored());
    const none = open(settings({ state: [] }));
    expect(await codeOf(none.write("default", PLAIN))).toBe("TFSTATE_ENCRYPTION_INVALID");
    await none.retire?.("default", "kept", Buffer.from('{"version":99}'));
    expect(await none.read("default")).toEqual(kept.bytes);
    expect(await codeOf(none.write("default", PLAIN))).toBe("TFSTATE_ENCRYPTION_INVALID");
    await open().write("default", PLAIN);
    expect(await open().read("default")).toEqual(PLAIN);
  });

  it.each([
    ["aws_kms", settings({ provider: "aws_kms" }), "TFSTATE_ENCRYPTION_UNSUPPORTED", '"aws_kms"'],
    ["a short passphrase", settings({ passphrase: "short" }), "TFSTATE_ENCRYPTION_INVALID", "16"],
    [
      "few iterations",
      settings({ values: { iterations: 1 } }),
      "TFSTATE_ENCRYPTION_INVALID",
      "iterations",
    ],
    [
      "too many iterations",
      settings({ values: { iterations: 10_000_001 } }),
      "TFSTATE_ENCRYPTION_INVALID",
      "10000000",
    ],
    [
      "a missing block",
      settings({ state: ["method.aes_gcm.none"] }),
      "TFSTATE_ENCRYPTION_INVALID",
      "method.aes_gcm.none",
    ],
  ])("refuses %s by name", async (_, given, code, text) => {
    const error = await memory(await stored())
      .open(given)
      .read("default")
      .catch((found: unknown) => found);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(text);
  });

  it("refuses what is damaged, of another form, or costs too much to read", async () => {
    const file = JSON.parse(Buffer.from(await stored()).toString()) as Record<string, unknown>;
    const meta = (parameters: object): object => ({
      [KEYS]: Buffer.from(JSON.stringify(parameters)).toString("base64"),
    });
    const good = { salt: "AAAA", iterations: 200_000, hash_function: "sha512", key_length: 32 };
    const read = async (change: object): Promise<string> => {
      const bytes = Buffer.from(JSON.stringify({ ...file, ...change }));
      return codeOf(memory(bytes).open().read("default"));
    };
    expect(await read({})).toBe("none");
    expect(await read({ encryption_version: "v9" })).toBe("TFSTATE_ENCRYPTION_UNSUPPORTED");
    expect(await read({ encrypted_data: 5 })).toBe("TFSTATE_FILE_INVALID");
    expect(await read({ encrypted_data: "AAAA" })).toBe("TFSTATE_STATE_ENCRYPTED");
    expect(await read({ meta: meta(good) })).toBe("TFSTATE_STATE_ENCRYPTED");
    for (const change of [
      { iterations: 10_000_001 },
      { iterations: 0 },
      { hash_function: "md5" },
      { key_length: 1e9 },
      { salt: 1 },
    ]) {
      expect(await read({ meta: meta({ ...good, ...change }) })).toBe("TFSTATE_FILE_INVALID");
    }
  });
});
