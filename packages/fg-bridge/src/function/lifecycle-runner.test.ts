import { Value } from "@stackwright/cty";
import {
  computed,
  createProvider,
  defineFunction,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import { createPluginClient } from "@stackwright/tfplugin";
import { describe, expect, it, vi } from "vitest";
import { probeProvider } from "../caller/probe-provider.ts";
import { FgBridgeError } from "../errors.ts";
import { startBridgedFunction } from "../testing/bridged-function.ts";
import { createScriptedRunner } from "../testing/scripted-runner.ts";
import { createLifecycleRunner } from "./lifecycle-runner.ts";

type Notes = Map<string, { readonly text: string | null; readonly revision: number }>;

/** A provider made with the kit. A function has no memory, so its objects live outside of it. */
const notebook = (notes: Notes) =>
  createProvider({
    config: { owner: optional(types.string, { sensitive: true }) },
    configure: () => notes,
    functions: {
      twice: defineFunction({
        parameters: [{ name: "text", type: types.string }],
        result: types.string,
        call: (text) => `${text}${text}`,
      }),
    },
    resources: {
      nb_note: defineResource({
        attributes: {
          id: computed(types.string, { stable: true }),
          name: required(types.string, { replaces: true }),
          text: optional(types.string),
          revision: computed(types.number),
        },
        create({ name, text }, { client }: { client: Notes }) {
          client.set(name ?? "", { text: text ?? null, revision: 1 });
          return { id: name ?? "", revision: 1 };
        },
        read: ({ name }, { client }) => client.get(name),
        update({ name, text }, prior, { client }) {
          const revision = (prior.revision ?? 0) + 1;
          client.set(name ?? "", { text: text ?? null, revision });
          return { revision };
        },
        delete: ({ name }, { client }) => void client.delete(name),
        import(id, { client }) {
          const found = client.get(id);
          return found && { id, name: id, ...found };
        },
      }),
    },
  });

/* The contract of lifecycle providers holds through a function as well, with and without a pool. */
for (const pool of [undefined, { sharedCallers: true }]) {
  describeLifecycleProvider(
    `a provider of the kit behind a function${pool === undefined ? "" : " with a pool"}`,
    async () => {
      const notes: Notes = new Map();
      const runner = createLifecycleRunner({ name: "notebook", create: () => notebook(notes) });
      const bridged = await startBridgedFunction({
        runner,
        ...(pool === undefined ? {} : { server: { pool } }),
      });
      const provider = createPluginClient(bridged.connect());
      const config = Value.object({ owner: Value.string("me") });
      await provider.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
      return {
        provider,
        async [Symbol.asyncDispose]() {
          await provider.close();
          await bridged[Symbol.asyncDispose]();
        },
      };
    },
    {
      type: "nb_note",
      config: { name: Value.string("a"), text: Value.string("x") },
      changed: { name: Value.string("a"), text: Value.string("y") },
      replaced: { name: Value.string("b"), text: Value.string("x") },
      importable: true,
    },
  );
}

describe("a provider whose code makes mistakes", () => {
  const broken = { attributes: { name: required(types.string) }, delete: () => undefined };
  const stop = (): never => {
    const nothing = undefined as unknown as { readonly x: string };
    throw new Error(nothing.x);
  };
  const detail = "Cannot read properties of undefined (reading 'x')";

  /** What `work` writes to standard error. */
  async function writtenBy(work: () => Promise<void>): Promise<string> {
    let text = "";
    const write = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    try {
      await work();
    } finally {
      write.mockRestore();
    }
    return text;
  }

  it("answers with the operation and the type, and prints the stack without the request", async () => {
    const create = () =>
      createProvider({
        config: { token: required(types.string) },
        configure: () => undefined,
        resources: { zones_record: defineResource({ ...broken, create: stop }) },
      });
    const runner = createLifecycleRunner({ name: "zones", create });
    await using bridged = await startBridgedFunction({ runner });
    const provider = createPluginClient(bridged.connect());
    const settings = Value.object({ token: Value.string("reading 'x'") });
    await provider.configure({ config: settings, engineVersion: "0", deferralAllowed: false }, {});
    const config = Value.object({ name: Value.string("properties") });
    const prior = Value.null(config.type);
    const rest = { config, planned: config, plannedPrivate: new Uint8Array() };
    const written = await writtenBy(async () => {
      const reply = await provider.apply({ type: "zones_record", prior, ...rest }, {});
      expect(reply.state.isNull).toBe(true);
      expect(reply.diagnostics).toEqual([
        { severity: "error", summary: "create of zones_record failed", detail },
      ]);
    });
    await provider.close();
    expect(written).toMatch(
      /^create of zones_record failed: TypeError: Cannot read \*\*\* of undefined \(\*\*\*\)\n {4}at .*stop/,
    );
    expect(written).toContain("lifecycle-runner.test.ts");
  });

  it("prints the stack of a provider that cannot be made", async () => {
    const runner = createLifecycleRunner({ name: "zones", create: stop });
    await using bridged = await startBridgedFunction({ runner });
    await using transport = bridged.connect();
    const written = await writtenBy(async () => {
      expect(await probeProvider(transport)).toMatchObject({
        reason: expect.stringContaining(detail) as string,
      });
    });
    const first = `the provider zones could not be made: TypeError: ${detail}\n    at stop (`;
    expect(written.startsWith(first)).toBe(true);
  });
});

describe("probing a function", () => {
  it("says what it has, and what cannot be used through the contract", async () => {
    const runner = createLifecycleRunner({ name: "nb", create: () => notebook(new Map()) });
    await using bridged = await startBridgedFunction({ runner });
    await using transport = bridged.connect();
    expect(await probeProvider(transport)).toMatchObject({
      kind: "usable",
      resources: ["nb_note"],
      notCarried: ["twice"],
      schemaDigest: expect.stringMatching(/^sha256:/) as string,
    });
  });

  it("distinguishes a provider of the wrong protocol from one that is not there", async () => {
    const refusal = new FgBridgeError("FG_PROTOCOL_REFUSED", "it speaks version 6 alone");
    const runner = createScriptedRunner({
      onStart: () => {
        throw refusal;
      },
    });
    const bridged = await startBridgedFunction({ runner, caller: { retry: { attempts: 1 } } });
    await using transport = bridged.connect();
    expect(await probeProvider(transport)).toEqual({
      kind: "refused",
      reason: "GetSchema: it speaks version 6 alone",
    });
    await bridged.server.close();
    expect((await probeProvider(transport)).kind).toBe("unreachable");
    await bridged[Symbol.asyncDispose]();
  });

  it("refuses what is no schema", async () => {
    const runner = createScriptedRunner({ script: () => Buffer.from([0xff, 0xff, 0xff]) });
    await using bridged = await startBridgedFunction({ runner });
    await using transport = bridged.connect();
    expect((await probeProvider(transport)).kind).toBe("refused");
  });
});
