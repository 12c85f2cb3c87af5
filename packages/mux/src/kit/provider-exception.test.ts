import { Type, Value } from "@stackwright/cty";
import { describe, expect, it, vi } from "vitest";
import { ProviderFailure } from "../router/provider-failure.ts";
import { computed, optional, required } from "./attribute.ts";
import { types } from "./attribute-type.ts";
import { createProvider } from "./create-provider.ts";
import { defineDataSource, defineFunction, defineResource } from "./definition.ts";
import type { ProviderException } from "./provider-exception.ts";

const NO_BYTES = new Uint8Array();
const SECRET = "hunter2-line1\nhunter2-line2";

/** A provider all of whose code does what `fail` does. */
async function failing(fail: () => never, options: { readonly onFault?: () => void } = {}) {
  const faults: ProviderException[] = [];
  const attributes = {
    name: required(types.string),
    key: optional(types.string, { sensitive: true }),
    id: computed(types.string),
  };
  const provider = createProvider(
    {
      config: { token: optional(types.string, { sensitive: true }) },
      configure: ({ token }) => (token === null ? fail() : undefined),
      resources: {
        zones_record: defineResource({
          attributes,
          version: 1,
          validate: fail,
          plan: fail,
          create: fail,
          read: fail,
          update: fail,
          delete: fail,
          import: fail,
          upgrade: fail,
        }),
      },
      dataSources: { zones_zone: defineDataSource({ attributes, validate: fail, read: fail }) },
      functions: { zone_of: defineFunction({ parameters: [], result: types.string, call: fail }) },
    },
    { onFault: (fault) => void faults.push(fault), ...options },
  );
  const configure = (token: Value) =>
    provider.configure(
      { config: Value.object({ token }), engineVersion: "0", deferralAllowed: false },
      {},
    );
  await configure(Value.string("t-0k3n"));
  return { provider, faults, configure };
}

const object = Value.object({
  name: Value.string("www.example.org"),
  key: Value.string(SECRET),
  id: Value.null(Type.string),
});
const absent = Value.null(object.type);
const type = "zones_record";
const apply = { type, config: object, plannedPrivate: NO_BYTES };
const state = { type, state: object, privateBytes: NO_BYTES, deferralAllowed: false };
const plan = { type, config: object, proposed: object, priorPrivate: NO_BYTES };
const stop = (): never => {
  const nothing = undefined as unknown as { readonly x: string };
  throw new Error(nothing.x);
};

describe("an exception in provider code", () => {
  it("is reported with operation and type, and to the author with its stack", async () => {
    const { provider, faults, configure } = await failing(stop);
    const config = { type, config: object, writeOnlyAllowed: true };
    const zone = { type: "zones_zone", config: object, writeOnlyAllowed: true };
    const replies = [
      await configure(Value.null(Type.string)),
      await provider.validateResource(config, {}),
      await provider.plan({ ...plan, prior: absent, deferralAllowed: false }, {}),
      await provider.apply({ ...apply, prior: absent, planned: object }, {}),
      await provider.apply({ ...apply, prior: object, planned: object }, {}),
      await provider.apply({ ...apply, prior: object, planned: absent }, {}),
      await provider.read(state, {}),
      await provider.import({ type, id: "a", deferralAllowed: false }, {}),
      await provider.upgrade({ type, schemaVersion: 0, json: '{"name":"n"}' }, {}),
      await provider.validateDataSource(zone, {}),
      await provider.readDataSource({ ...zone, deferralAllowed: false }, {}),
    ];
    const detail = "Cannot read properties of undefined (reading 'x')";
    const operations = [
      "configure of the provider",
      ...["validate", "plan", "create", "update", "delete", "read", "import", "upgrade"].map(
        (operation) => `${operation} of zones_record`,
      ),
      "validate of zones_zone",
      "read of zones_zone",
    ];
    expect(replies.map(({ diagnostics }) => diagnostics)).toEqual(
      operations.map((operation) => [
        { severity: "error", summary: `${operation} failed`, detail },
      ]),
    );
    expect(await provider.callFunction({ name: "zone_of", arguments: [] }, {})).toEqual({
      error: { text: `call of zone_of failed: ${detail}` },
    });
    expect(faults.map(({ operation }) => operation)).toEqual([...operations, "call of zone_of"]);
    for (const { operation, text } of faults) {
      expect(text.startsWith(`${operation} failed: TypeError: ${detail}\n    at `)).toBe(true);
      expect(text).toContain("provider-exception.test.ts");
    }
  });

  it("is written to standard error unless a handler is given", async () => {
    const written: unknown[] = [];
    const write = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
      written.push(chunk);
      return true;
    });
    try {
      const provider = createProvider({ config: {}, configure: stop });
      const config = Value.object({});
      await provider.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
    } finally {
      write.mockRestore();
    }
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(/^configure of the provider failed: TypeError: .*\n {4}at /);
  });

  it("is reported with its causes, without the texts of the request and of the configuration", async () => {
    const { provider, faults } = await failing(() => {
      const quoted = JSON.stringify({ key: SECRET, name: "www.example.org" });
      const cause = Object.assign(new Error(`${quoted} ${encodeURIComponent(SECRET)}`), {
        headers: { authorization: "Bearer of-its-own" },
      });
      throw new Error(`no login with t-0k3n and ${SECRET}`, { cause });
    });
    await provider.apply({ ...apply, prior: absent, planned: object }, {});
    const [{ text } = { text: "" }] = faults;
    expect(text).toMatch(
      /^create of zones_record failed: Error: no login with \*\*\* and \*\*\*\n/,
    );
    expect(text).toContain('\ncaused by Error: {"key":"***","name":"***"} ***\n');
    expect(text).not.toMatch(/hunter2|t-0k3n|example|of-its-own/);
  });

  it("is not an error of the code when it is a ProviderFailure, or when the call was given up", async () => {
    const own = await failing(() => {
      throw new ProviderFailure("Zone locked", "Try later.");
    });
    const { diagnostics } = await own.provider.read(state, {});
    expect(diagnostics).toEqual([
      { severity: "error", summary: "Zone locked", detail: "Try later." },
    ]);
    const gone = await failing(stop);
    const reply = await gone.provider.read(state, { signal: AbortSignal.abort() });
    expect(reply.diagnostics[0]?.summary).toBe("read of zones_record failed");
    expect([own.faults, gone.faults]).toEqual([[], []]);
  });

  it("may be anything that is thrown", async () => {
    const { provider, faults } = await failing(() => {
      // eslint-disable-next-line typescript/only-throw-error -- what provider code may do
      throw { secret: "of-its-own" };
    });
    await provider.read(state, {});
    expect(faults[0]?.text).toBe(
      "read of zones_record failed: an object was thrown, which is not an Error",
    );
  });
});
