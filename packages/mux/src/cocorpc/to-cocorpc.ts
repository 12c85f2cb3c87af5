import { createHash } from "node:crypto";
import { detailType, RpcError } from "@stackwright/proto/grpc";
import { encodeStruct, type PropertyMap } from "@stackwright/proto/property";
import {
  type DiffResponse,
  ErrorResourceInitFailed,
  PropertyDiff_Kind,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import { topLevelName } from "../core/config-filter.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import type { CocorpcProvider } from "./cocorpc-provider.ts";
import { changedKeys, decodeProperties, encodeForCocorpc, stringOf } from "./properties.ts";

export interface ToCocorpcOptions {
  /** Property that holds the name of a resource, for Name. @default "name" */
  readonly nameProperty?: string;
}

const INIT_FAILED = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);

const REPLACING: ReadonlySet<PropertyDiff_Kind> = new Set([
  PropertyDiff_Kind.ADD_REPLACE,
  PropertyDiff_Kind.DELETE_REPLACE,
  PropertyDiff_Kind.UPDATE_REPLACE,
]);

/**
 * Presents a provider of today's protocol as one of 2017. A create that left a half-made resource behind is undone
 * before it fails, as a failed Create has to mean that nothing was created. A resource without a name of its own is
 * named after its type and properties, so that equal names are interchangeable.
 */
export function toCocorpcProvider(
  provider: ResourceProvider,
  options: ToCocorpcOptions = {},
): CocorpcProvider {
  const { nameProperty = "name" } = options;

  async function checked(
    type: string,
    properties: EncodedStruct | undefined,
    olds: EncodedStruct | undefined,
    context: CallContext,
  ) {
    const news = properties ?? EMPTY;
    const seed = createHash("sha256").update(type).update(news).digest();
    return provider.check(
      {
        urn: urnOf(type),
        olds: olds ?? EMPTY,
        news,
        randomSeed: seed,
        autonaming: undefined,
        name: "",
        type: "",
      },
      context,
    );
  }

  async function inputsOf(
    type: string,
    properties: EncodedStruct | undefined,
    olds: EncodedStruct | undefined,
    context: CallContext,
  ): Promise<EncodedStruct> {
    const { inputs, failures } = await checked(type, properties, olds, context);
    if (failures.length === 0) return inputs ?? EMPTY;
    const text = failures.map(({ property, reason }) => `${property}: ${reason}`).join("; ");
    throw new RpcError("INVALID_ARGUMENT", text);
  }

  async function stateOf(id: string, type: string, context: CallContext): Promise<PropertyMap> {
    const request = { ...RESOURCE, id, urn: urnOf(type), properties: EMPTY, inputs: undefined };
    const reply = await provider.read(request, context);
    if (reply.id === "") throw new RpcError("NOT_FOUND", `there is no ${type} with the id "${id}"`);
    return decodeProperties(reply.properties);
  }

  return {
    async check({ type, properties }, context) {
      const { failures } = await checked(type, properties, undefined, context);
      return { failures };
    },

    async name({ type, properties }, context) {
      const inputs = decodeProperties(await inputsOf(type, properties, undefined, context));
      const own = stringOf(inputs.get(nameProperty));
      if (own !== undefined && own !== "") return { name: own };
      const hash = createHash("sha256")
        .update(type)
        .update(properties ?? EMPTY)
        .digest("hex");
      return { name: `${type.slice(type.lastIndexOf(":") + 1)}-${hash.slice(0, 12)}` };
    },

    async create({ type, properties }, context) {
      const inputs = await inputsOf(type, properties, undefined, context);
      const urn = urnOf(type);
      try {
        const { id } = await provider.create({ ...RESOURCE, urn, properties: inputs }, context);
        return { id };
      } catch (error) {
        const [half] = RpcError.from(error).findDetails(INIT_FAILED);
        if (half !== undefined) {
          await undo(
            provider,
            { ...RESOURCE, id: half.id, urn, properties: half.properties, oldInputs: inputs },
            error,
          );
        }
        throw error;
      }
    },

    async get({ id, type }, context) {
      return { properties: encodeForCocorpc(await stateOf(id, type, context)) };
    },

    async previewUpdate({ id, type, olds, news }, context) {
      const inputs = await inputsOf(type, news, olds, context);
      const request = {
        ...RESOURCE,
        id,
        urn: urnOf(type),
        olds: encodeStruct(await stateOf(id, type, context)),
        news: inputs,
        oldInputs: olds,
        ignoreChanges: [],
      };
      const reply = await provider.diff(request, context);
      const replaces = replacedNames(reply);
      const after = decodeProperties(inputs);
      const named =
        reply.diffs.length > 0 ? reply.diffs : changedKeys(decodeProperties(olds), after);
      const changes = named.filter((name) => !replaces.includes(name));
      return {
        replaces,
        changes: encodeStruct(
          new Map(changes.map((name) => [name, after.get(name) ?? ({ kind: "null" } as const)])),
        ),
      };
    },

    async update({ id, type, olds, news }, context) {
      const inputs = await inputsOf(type, news, olds, context);
      const state = encodeStruct(await stateOf(id, type, context));
      const request = {
        ...RESOURCE,
        id,
        urn: urnOf(type),
        olds: state,
        news: inputs,
        oldInputs: olds,
      };
      await provider.update({ ...request, ignoreChanges: [] }, context);
      return {};
    },

    async delete({ id, type }, context) {
      const properties = encodeStruct(await stateOf(id, type, context));
      await provider.delete(
        { ...RESOURCE, id, urn: urnOf(type), properties, oldInputs: EMPTY },
        context,
      );
      return {};
    },
  };
}

const EMPTY = encodeStruct(new Map());

/** Fields of resource requests that the 2017 protocol has no word for. */
const RESOURCE = {
  timeout: 0,
  preview: false,
  name: "",
  type: "",
  resourceStatusAddress: "",
  resourceStatusToken: "",
  oldViews: [],
};

/** Today's requests are keyed by URN; of it only the type means something to a provider. */
function urnOf(type: string): string {
  return `urn:pulumi:legacy::legacy::${type}::resource`;
}

function replacedNames({ replaces, detailedDiff }: DiffResponse): string[] {
  const names = new Set(replaces.map(topLevelName));
  for (const [path, { kind }] of detailedDiff) {
    if (REPLACING.has(kind)) names.add(topLevelName(path));
  }
  return [...names].toSorted();
}

/** Deletes what a failed create left behind; when that fails too, the error names what is left. */
async function undo(
  provider: ResourceProvider,
  request: Parameters<ResourceProvider["delete"]>[0],
  cause: unknown,
): Promise<void> {
  try {
    await provider.delete(request, {});
  } catch (error) {
    const { rawMessage } = RpcError.from(cause);
    throw new RpcError(
      "DATA_LOSS",
      `${rawMessage}; what was created is still there under the id "${request.id}" and could not be deleted: ${RpcError.from(error).rawMessage}`,
      { cause: new AggregateError([cause, error]) },
    );
  }
}
