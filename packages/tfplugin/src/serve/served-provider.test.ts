import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import { createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import { expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { program } from "../testing/programs/programs.ts";
import { serveLifecycleProvider } from "./lifecycle-transport.ts";

/* Our launcher drives a process of our own making: kit, server, handshake, TLS, client. */

const toy = (protocol: 5 | 6) => program("toy-provider.ts", `${protocol}`);

for (const protocol of [5, 6] as const) {
  describeLifecycleProvider(
    `a provider process of ours, protocol ${protocol}`,
    async () => {
      const cleanup = new AsyncDisposableStack();
      const folder = await mkdtempDisposable(join(tmpdir(), "toy-"));
      cleanup.defer(() => folder.remove());
      const process = await launchTerraformProvider({
        ...toy(protocol),
        runtimeDirectory: folder.path,
      });
      cleanup.defer(async () => {
        await process.close();
        expect(process.exit).toEqual({ code: 0, signal: undefined });
      });
      expect(process.protocol).toBe(protocol);
      const provider = createPluginClient(process.transport);
      const config = Value.object({ directory: Value.string(join(folder.path, "objects")) });
      await provider.configure({ config, engineVersion: "1.0.0", deferralAllowed: false }, {});
      return { provider, [Symbol.asyncDispose]: () => cleanup.disposeAsync() };
    },
    {
      type: "toy_thing",
      config: { name: Value.string("one"), label: Value.string("a") },
      changed: { name: Value.string("one"), label: Value.string("b") },
      replaced: { name: Value.string("two"), label: Value.string("a") },
      importable: true,
    },
  );
}

it("what a provider rejects with is a diagnostic, and what was there is there", async () => {
  const boom = () => Promise.reject(new Error("boom"));
  const attributes = { text: required(types.string) };
  const note = defineResource({ attributes, create: () => ({}), delete: () => undefined });
  const provider = createProvider({
    config: {},
    configure: () => undefined,
    resources: { toy_note: note },
  });
  const broken = Object.assign(provider, { upgrade: boom, apply: boom });
  const transport = serveLifecycleProvider(broken, { protocol: 6 });
  await using client = createPluginClient(transport);
  const upgraded = await client.upgrade({ type: "toy_note", schemaVersion: 0, json: "{}" }, {});
  expect(upgraded.diagnostics.map(({ detail }) => detail)).toEqual(["boom"]);

  const prior = Value.object({ text: Value.string("old") });
  const config = Value.object({ text: Value.string("new") });
  const request = { type: "toy_note", prior, config, planned: config };
  const applied = await client.apply({ ...request, plannedPrivate: Uint8Array.of(1) }, {});
  expect(applied.diagnostics.map(({ severity }) => severity)).toEqual(["error"]);
  expect(applied.state.equals(prior)).toBe(true);
  expect(applied.privateBytes).toEqual(Uint8Array.of(1));

  const unknown = transport.unary("PlanAction", new Uint8Array(), {});
  await expect(unknown).rejects.toMatchObject({ code: "TFPLUGIN_METHOD_UNIMPLEMENTED" });
});

it("what protocol 5 cannot express is reported where it is requested", async () => {
  const plain = createProvider({ config: {}, configure: () => undefined });
  const { schema, capabilities } = await plain.schema({});
  const type = Type.object({ x: Type.number });
  const flags = { required: true, optional: false, computed: false, sensitive: false };
  const about = { writeOnly: false, deprecated: false, description: "" };
  const inner = { type: Type.number, ...flags, ...about };
  const point = {
    ...inner,
    type,
    nested: { nesting: "single", attributes: new Map([["x", inner]]) },
  } as const;
  const provider = Object.assign(plain, {
    schema: () =>
      Promise.resolve({
        diagnostics: [],
        capabilities,
        schema: {
          ...schema,
          provider: { ...schema.provider, attributes: new Map([["point", point]]) },
        },
      }),
  });
  const five = createPluginClient(serveLifecycleProvider(provider, { protocol: 5 }));
  await expect(five.schema({})).rejects.toMatchObject({ code: "TFPLUGIN_DOWNGRADE_IMPOSSIBLE" });
  const six = createPluginClient(serveLifecycleProvider(provider, { protocol: 6 }));
  const found = (await six.schema({})).schema.provider.attributes.get("point");
  expect(found?.nested?.nesting).toBe("single");
});
