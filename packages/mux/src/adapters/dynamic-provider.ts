import {
  decodeStruct,
  encodeStruct,
  mapProperty,
  type PropertyMap,
  type PropertyValue,
  stringProperty,
} from "@stackwright/proto/property";
import {
  CheckResponse,
  DiffRequest,
  type DiffResponse,
  DiffResponse_DiffChanges,
  type UpdateRequest,
  UpdateResponse,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import type { ResourceProvider } from "../resource-provider.ts";

/** The property in which the dynamic provider takes the program of a resource. */
const PROGRAM_KEY = "__provider";

const ANY = { $ref: "pulumi.json#/Any" };
const SOURCE = {
  type: "string",
  description:
    "A module for Node whose `handler()` returns `check`, `diff`, `create`, `read`, `update`, `delete`.",
};
const INPUTS = { ...ANY, description: "An object, for the functions of the module." };

const SCHEMA = JSON.stringify({
  name: "dynamic",
  resources: {
    "dynamic:index:Resource": {
      description: "A resource whose provider is a module in the configuration.",
      inputProperties: { source: SOURCE, inputs: INPUTS },
      requiredInputs: ["source"],
      properties: {
        source: SOURCE,
        inputs: INPUTS,
        outputs: { ...ANY, description: "What `create`, `read` or `update` returned." },
      },
    },
  },
});

/**
 * The dynamic provider of Pulumi's SDK for Node with a schema: its resources may have any properties, of which those that a
 * configuration gives are in `inputs` and those that the resource has in `outputs`; the module with its functions is `source`.
 */
export function withDynamicSchema(provider: ResourceProvider): ResourceProvider {
  return {
    ...provider,
    getSchema: async () => Promise.resolve({ schema: SCHEMA }),
    async check(request, context) {
      const news = decodeStruct(request.news ?? EMPTY);
      // Its functions take objects; of what is not known yet there is nothing to check.
      if (news.get("inputs")?.kind === "unknown" || news.get("source")?.kind !== "string") {
        return CheckResponse.create({ inputs: request.news });
      }
      const olds = toGiven(request.olds);
      const reply = await provider.check(
        { ...request, olds, news: toGiven(request.news) },
        context,
      );
      return {
        inputs: reply.inputs && encodeStruct(split(reply.inputs, "inputs")),
        failures: reply.failures.map(({ property, reason }) => ({
          property: property === "" ? "" : `inputs.${property}`,
          reason,
        })),
      };
    },
    async diff(request, context) {
      const reply = await diffOf(provider, request, context);
      const isRewritten = sourceOf(request.olds) !== sourceOf(request.news);
      const changes =
        isRewritten && reply.changes === DiffResponse_DiffChanges.DIFF_NONE
          ? DiffResponse_DiffChanges.DIFF_SOME
          : reply.changes;
      return {
        ...reply,
        changes,
        replaces: reply.replaces.length > 0 ? ["inputs"] : [],
        stables: [],
        diffs: [],
      };
    },
    async create(request, context) {
      const properties = toGiven(request.properties);
      const reply = await provider.create({ ...request, properties }, context);
      return { ...reply, properties: toObject(reply.properties, request.properties) };
    },
    async read(request, context) {
      const properties = toState(request.properties);
      const { inputs: given } = request;
      const reply = await provider.read(
        { ...request, properties, inputs: given && toGiven(given) },
        context,
      );
      return {
        ...reply,
        properties: toObject(reply.properties, request.properties),
        inputs: reply.inputs && encodeStruct(split(reply.inputs, "inputs")),
      };
    },
    async update(request, context) {
      if (sourceOf(request.olds) !== sourceOf(request.news)) {
        const { changes } = await diffOf(provider, request, context);
        if (changes === DiffResponse_DiffChanges.DIFF_NONE) {
          const members = new Map(decodeStruct(request.olds ?? EMPTY));
          for (const [name, value] of decodeStruct(request.news ?? EMPTY)) members.set(name, value);
          return UpdateResponse.create({ properties: encodeStruct(members) });
        }
      }
      const reply = await provider.update(
        {
          ...request,
          olds: toState(request.olds),
          oldInputs: request.oldInputs && toGiven(request.oldInputs),
          news: toGiven(request.news),
        },
        context,
      );
      return { ...reply, properties: toObject(reply.properties, request.news) };
    },
    delete: async (request, context) =>
      provider.delete(
        {
          ...request,
          properties: toState(request.properties),
          oldInputs: request.oldInputs && toGiven(request.oldInputs),
        },
        context,
      ),
  };
}

const EMPTY = encodeStruct(new Map());

/** What the functions of the new program say of a change. */
async function diffOf(
  provider: ResourceProvider,
  { id, urn, olds, oldInputs, news, ignoreChanges }: DiffRequest | UpdateRequest,
  context: CallContext,
): Promise<DiffResponse> {
  return provider.diff(
    DiffRequest.create({
      id,
      urn,
      olds: toState(olds),
      oldInputs: oldInputs && toGiven(oldInputs),
      news: toGiven(news),
      ignoreChanges,
    }),
    context,
  );
}

function sourceOf(outer: EncodedStruct | undefined): string {
  const source = decodeStruct(outer ?? EMPTY).get("source");
  return source?.kind === "string" ? source.value : "";
}

/** What a configuration gives, as the provider takes it. */
function toGiven(outer: EncodedStruct | undefined): EncodedStruct {
  return flat(outer, "inputs");
}

/** What a resource is, as the provider takes it. */
function toState(outer: EncodedStruct | undefined): EncodedStruct {
  return flat(outer, "outputs");
}

function flat(outer: EncodedStruct | undefined, part: "inputs" | "outputs"): EncodedStruct {
  const members = decodeStruct(outer ?? EMPTY);
  const values = members.get(part);
  const source = members.get("source");
  return encodeStruct(
    new Map<string, PropertyValue>([
      ...(values?.kind === "map" ? values.entries : []),
      ...(source === undefined ? [] : [[PROGRAM_KEY, source] as const]),
    ]),
  );
}

/** What the provider returned, under one attribute, with its program beside it. */
function split(inner: EncodedStruct, part: "inputs" | "outputs"): PropertyMap {
  const values = new Map(decodeStruct(inner));
  const source = values.get(PROGRAM_KEY) ?? stringProperty("");
  values.delete(PROGRAM_KEY);
  return new Map([
    ["source", source],
    [part, mapProperty(values)],
  ]);
}

/** The object of what the provider returned, and of the inputs that went to it. */
function toObject(
  inner: EncodedStruct | undefined,
  outer: EncodedStruct | undefined,
): EncodedStruct {
  const { inputs } = Object.fromEntries(decodeStruct(outer ?? EMPTY));
  const members = new Map(split(inner ?? EMPTY, "outputs"));
  if (inputs !== undefined) members.set("inputs", inputs);
  return encodeStruct(members);
}
