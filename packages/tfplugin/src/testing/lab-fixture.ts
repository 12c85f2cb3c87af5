import { refine, Type, Value } from "@stackwright/cty";
import * as t6 from "@stackwright/proto/tfplugin6";
import type { PluginClientOptions } from "../client/client-options.ts";
import { createPluginClient } from "../client/plugin-client.ts";
import { ScriptedTransport } from "./scripted-transport.ts";

/* A provider that a test scripts, with a type of everything, and values that fit it. */

export const TYPE = Type.object({ id: Type.string, n: Type.number, s: Type.set(Type.string) });
export const IDENTITY = Type.object({ key: Type.string });
export const bytes = (...values: number[]) => Uint8Array.of(...values);
export const utf8 = (text: string) => new TextEncoder().encode(text);
export const NONE = new Uint8Array();
export const text = (content: string) => Value.string(content);

export function attribute(name: string, type: string, extra: Partial<t6.Schema_Attribute> = {}) {
  return t6.Schema_Attribute.fromPartial({ name, type: utf8(type), optional: true, ...extra });
}

export function schema(attributes: readonly t6.Schema_Attribute[], version = 0n): t6.Schema {
  return t6.Schema.fromPartial({ version, block: { attributes: [...attributes] } });
}

export const SCHEMA = t6.GetProviderSchema_Response.fromPartial({
  provider: schema([attribute("region", '"string"')]),
  providerMeta: schema([attribute("module", '"string"')]),
  resourceSchemas: new Map([
    [
      "lab_thing",
      schema(
        [
          attribute("id", '"string"', { computed: true }),
          attribute("n", '"number"'),
          attribute("s", '["set","string"]'),
        ],
        2n,
      ),
    ],
  ]),
  dataSourceSchemas: new Map([["lab_info", schema([attribute("id", '"string"')])]]),
  ephemeralResourceSchemas: new Map([["lab_lease", schema([attribute("id", '"string"')])]]),
  functions: new Map([
    [
      "join",
      t6.FunctionMessage.fromPartial({
        parameters: [{ name: "separator", type: utf8('"string"') }],
        variadicParameter: { name: "parts", type: utf8('"dynamic"'), allowNullValue: true },
        return: { type: utf8('"string"') },
      }),
    ],
  ]),
  serverCapabilities: { planDestroy: true, moveResourceState: true },
});

const IDENTITIES = t6.GetResourceIdentitySchemas_Response.fromPartial({
  identitySchemas: new Map([
    [
      "lab_thing",
      {
        version: 1n,
        identityAttributes: [{ name: "key", type: utf8('"string"'), requiredForImport: true }],
      },
    ],
  ]),
});

type Script = ConstructorParameters<typeof ScriptedTransport>[1];

export function clientOf(script: Script, options: PluginClientOptions & { protocol?: 5 | 6 } = {}) {
  const { protocol = 6, ...rest } = options;
  const transport = new ScriptedTransport(protocol, {
    getProviderSchema: () => SCHEMA,
    getResourceIdentitySchemas: () => IDENTITIES,
    ...script,
  });
  return { transport, client: createPluginClient(transport, rest) };
}

export const object = (id: Value, n = Value.number(1)) =>
  Value.object({ id, n, s: Value.set([text("b"), text("a")]) });
export const NOTHING = Value.null(TYPE);
export const THING = object(text("1"));
export const UNKNOWN = object(refine(Value.unknown(Type.string), { notNull: true }));

export const planRequest = {
  type: "lab_thing",
  prior: NOTHING,
  config: THING,
  proposed: THING,
  priorPrivate: NONE,
  deferralAllowed: false,
};
export const applyRequest = {
  type: "lab_thing",
  prior: NOTHING,
  config: THING,
  planned: THING,
  plannedPrivate: bytes(7),
};

export const ERROR = {
  severity: 1 as const,
  summary: "no",
  detail: "not so",
  attribute: undefined,
};
