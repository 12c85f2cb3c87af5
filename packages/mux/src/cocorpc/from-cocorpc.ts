import type { UpdateRequest as CocorpcUpdateRequest } from "@stackwright/proto/cocorpc";
import { createDetail, detailType, RpcError } from "@stackwright/proto/grpc";
import { encodeStruct, type PropertyMap, stringProperty } from "@stackwright/proto/property";
import {
  type CheckRequest,
  type DiffRequest,
  type DiffResponse,
  DiffResponse_DiffChanges,
  ErrorResourceInitFailed,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import { typeOfUrn } from "../core/urn.ts";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import type { CocorpcProvider } from "./cocorpc-provider.ts";
import { decodeProperties, encodeForCocorpc, NAME_KEY, stringOf } from "./properties.ts";

export interface FromCocorpcOptions {
  /** Schema to answer GetSchema with, as the 2017 protocol has none. @default UNIMPLEMENTED */
  readonly schema?: string;
}

const INIT_FAILED = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);

/**
 * Presents a 2017 provider as one of today's protocol.
 *
 * | today | 2017 |
 * |---|---|
 * | Check | Check, then Name; the name is kept among the inputs |
 * | Diff | PreviewUpdate; another name is another resource, so it replaces |
 * | Create | Create, then Get. A failure of Create means that nothing was created |
 * | Read | Get; NOT_FOUND means gone |
 * | Update | Update, then Get |
 * | Delete | Delete |
 *
 * It takes no secrets, references or output values, and no previews: the engine strips and skips them.
 */
export function fromCocorpcProvider(
  legacy: CocorpcProvider,
  options: FromCocorpcOptions = {},
): ResourceProvider {
  const { schema } = options;

  /** What exists after a change. When it cannot be read, the change still happened, and the error says so. */
  async function readBack(
    id: string,
    type: string,
    inputs: PropertyMap,
    context: CallContext,
  ): Promise<EncodedStruct> {
    try {
      const { properties } = await legacy.get({ id, type }, context);
      return withName(decodeProperties(properties), inputs);
    } catch (error) {
      const failure = RpcError.from(error);
      const detail = createDetail(INIT_FAILED, {
        id,
        properties: encodeStruct(inputs),
        reasons: [`cannot be read back: ${failure.rawMessage}`],
        inputs: encodeStruct(inputs),
        refreshBeforeUpdate: true,
      });
      throw new RpcError("UNKNOWN", `${type} ${id} exists and cannot be read back`, {
        details: [detail],
        cause: error,
      });
    }
  }

  return {
    ...unimplementedProvider(),

    getSchema: () =>
      schema === undefined
        ? Promise.reject(new RpcError("UNIMPLEMENTED", "a 2017 provider has no schema of its own"))
        : Promise.resolve({ schema }),

    configure: () =>
      Promise.resolve({
        acceptSecrets: false,
        supportsPreview: false,
        acceptResources: false,
        acceptOutputs: false,
        supportsAutonamingConfiguration: false,
      }),

    async check(request: CheckRequest, context) {
      const type = requireType(request.urn);
      const news = decodeProperties(request.news);
      const properties = encodeForCocorpc(news);
      const { failures } = await legacy.check({ type, properties }, context);
      if (failures.length > 0) return { inputs: request.news, failures };
      const { name } = await legacy.name({ type, properties }, context);
      const inputs = new Map(news).set(NAME_KEY, stringProperty(name));
      return { inputs: encodeStruct(inputs), failures: [] };
    },

    async diff(request: DiffRequest, context): Promise<DiffResponse> {
      const olds = decodeProperties(request.oldInputs ?? request.olds);
      const news = decodeProperties(request.news);
      const update = toUpdate(request.id, requireType(request.urn), olds, news);
      const { replaces, changes } = await legacy.previewUpdate(update, context);
      const renamed = stringOf(olds.get(NAME_KEY)) !== stringOf(news.get(NAME_KEY));
      const diffs = new Set([...decodeProperties(changes).keys(), ...replaces]);
      if (renamed && olds.has(NAME_KEY)) diffs.add(NAME_KEY);
      const { DIFF_NONE, DIFF_SOME } = DiffResponse_DiffChanges;
      return {
        changes: diffs.size === 0 ? DIFF_NONE : DIFF_SOME,
        replaces: renamed && olds.has(NAME_KEY) ? [...replaces, NAME_KEY] : replaces,
        diffs: [...diffs].toSorted(),
        stables: [],
        deleteBeforeReplace: false,
        detailedDiff: new Map(),
        hasDetailedDiff: false,
      };
    },

    async create(request, context) {
      const type = requireType(request.urn);
      const inputs = decodeProperties(request.properties);
      // An engine that respects the missing support for previews does not ask for one; this is for others.
      if (request.preview) return { ...NO_RESOURCE, properties: request.properties };
      const properties = encodeForCocorpc(inputs);
      const { id } = await nothingHappened(legacy.create({ type, properties }, context));
      return { ...NO_RESOURCE, id, properties: await readBack(id, type, inputs, context) };
    },

    async read(request, context) {
      const type = requireType(request.urn);
      const inputs = decodeProperties(request.inputs);
      try {
        const { properties } = await legacy.get({ id: request.id, type }, context);
        const state = withName(decodeProperties(properties), inputs);
        return { ...NO_RESOURCE, id: request.id, properties: state, inputs: request.inputs };
      } catch (error) {
        if (RpcError.from(error).code !== "NOT_FOUND") throw error;
        return { ...NO_RESOURCE, id: "", properties: undefined, inputs: undefined };
      }
    },

    async update(request, context) {
      const type = requireType(request.urn);
      const news = decodeProperties(request.news);
      if (request.preview) return { ...NO_RESOURCE, properties: request.news };
      const olds = decodeProperties(request.oldInputs ?? request.olds);
      await legacy.update(toUpdate(request.id, type, olds, news), context);
      return { ...NO_RESOURCE, properties: await readBack(request.id, type, news, context) };
    },

    delete: ({ id, urn }, context) => legacy.delete({ id, type: requireType(urn) }, context),

    // The 2017 protocol has no such call, and nothing of it that could be ended early.
    cancel: () => Promise.resolve({}),
  };
}

const NO_RESOURCE = { id: "", refreshBeforeUpdate: false };

function toUpdate(
  id: string,
  type: string,
  olds: PropertyMap,
  news: PropertyMap,
): CocorpcUpdateRequest {
  return { id, type, olds: encodeForCocorpc(olds), news: encodeForCocorpc(news) };
}

/** The state keeps the name that the inputs carry, so that a later change of it shows. */
function withName(state: PropertyMap, inputs: PropertyMap): EncodedStruct {
  const name = inputs.get(NAME_KEY);
  return encodeStruct(name === undefined ? state : new Map(state).set(NAME_KEY, name));
}

function requireType(urn: string): string {
  const type = typeOfUrn(urn);
  if (type === undefined) throw new MuxError("MUX_URN_INVALID", `URN '${urn}' is not valid`);
  return type;
}

/** Codes by which today's engines conclude that a resource may be in any state. */
const STATE_UNKNOWN = new Set(["UNKNOWN", "INTERNAL", "DATA_LOSS"]);

/**
 * A failure that the provider itself reports means that nothing was created. It gets a code that says so. A lost
 * connection or a deadline proves nothing, and stays as it is.
 */
async function nothingHappened<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const failure = RpcError.from(error);
    if (!STATE_UNKNOWN.has(failure.code)) throw error;
    throw new RpcError("ABORTED", failure.rawMessage, { details: failure.details, cause: error });
  }
}
