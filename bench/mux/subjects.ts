import { type ResourceProvider, unimplementedProvider } from "@stackwright/mux";
import { createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { structFromJson } from "@stackwright/proto/property";
import { CreateRequest } from "@stackwright/proto/pulumirpc";

/** Properties of about 2 KiB. */
export const PROPERTIES = structFromJson({
  name: "logs",
  tags: Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`tag-${i}`, `value-${i}`.repeat(4)]),
  ),
  nested: { list: Array.from({ length: 40 }, (_, i) => i), flag: true },
});

const TYPES = 50;

/** A provider of 50 types that answers at once with what it is given. */
export function echoProvider(server: number): ResourceProvider {
  const resources = Object.fromEntries(
    Array.from({ length: TYPES }, (_, i) => [`p:index:S${server}T${i}`, {}]),
  );
  const schema = JSON.stringify({ name: "p", resources });
  const reply = { id: "1", properties: PROPERTIES, refreshBeforeUpdate: false };
  return {
    ...unimplementedProvider(),
    getSchema: () => Promise.resolve({ schema }),
    create: () => Promise.resolve(reply),
    checkConfig: ({ news }) => Promise.resolve({ inputs: news, failures: [] }),
    cancel: () => Promise.resolve({}),
  };
}

export const REQUEST = CreateRequest.create({
  urn: "urn:pulumi:production::shop::p:index:S1T7::logs",
  properties: PROPERTIES,
});

/** A lifecycle provider of one type whose read answers at once. */
export function lifecycleProvider(name: string): LifecycleProvider {
  const kit = createProvider({
    config: {},
    configure: () => ({}),
    resources: {
      [`${name}_thing`]: defineResource({
        attributes: { title: required(types.string) },
        create: () => ({}),
        delete: () => undefined,
      }),
    },
  });
  const bound = new Proxy(kit, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const read: LifecycleProvider["read"] = ({ state }) =>
    Promise.resolve({ diagnostics: [], state });
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(kit) as object);
  const plain = Object.fromEntries(
    methods.map((method) => [method, Reflect.get(bound, method) as unknown]),
  );
  return {
    ...plain,
    [Symbol.asyncDispose]: () => kit.close(),
    read,
  } as unknown as LifecycleProvider;
}
