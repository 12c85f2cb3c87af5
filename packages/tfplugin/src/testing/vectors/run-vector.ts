import { isDeepStrictEqual } from "node:util";
import { TfpluginError } from "../../errors.ts";
import {
  createPluginMux,
  downgradeToProtocol5,
  type MuxMember,
  upgradeToProtocol6,
} from "../../mux/index.ts";
import type { PluginTransport } from "../../transport/plugin-transport.ts";
import { decodeJson, encodeJson, methodTypes, normalizeJson } from "./proto-json.ts";
import {
  type CallSpec,
  type ErrorSpec,
  type JsonObject,
  protocolOf,
  type RequestSpec,
  type ServerSpec,
  type StepExpectation,
  type Vector,
} from "./vector-file.ts";

/** How the mux of a vector is built: as it is, or with each server behind a mux of its own. */
export type VectorMode = "flat" | "nested";

/** Runs a vector; one line for each thing that is other than expected. */
export async function runVector(vector: Vector, mode: VectorMode): Promise<string[]> {
  const protocol = protocolOf(vector) ?? 6;
  const seen: CallSpec[] = [];
  const construct = vector.expect.construct?.error;
  let mux: PluginTransport;
  try {
    const members = vector.servers.map((server) => ({
      name: server.name,
      transport: fakeServer(server, protocol, seen),
    }));
    mux = await build(members, vector.mux.translate, mode);
  } catch (error) {
    return construct === undefined
      ? [`construction: ${String(error)}`]
      : compareError(error, construct);
  }
  if (construct !== undefined) return ["construction succeeded"];
  const problems: string[] = [];
  for (const [position, request] of vector.requests.entries()) {
    const expected = vector.expect.steps[position];
    if (expected === undefined) continue;
    seen.length = 0;
    const found = await runStep(mux, request, expected, seen);
    problems.push(...found.map((problem) => `step ${position}: ${problem}`));
  }
  return problems;
}

async function build(
  members: readonly MuxMember[],
  translate: string | undefined,
  mode: VectorMode,
): Promise<PluginTransport> {
  const servers =
    mode === "flat"
      ? members
      : members.map(({ name, transport }) => ({
          name,
          transport: createPluginMux([{ name, transport }]),
        }));
  const mux = createPluginMux(servers);
  if (translate === "6to5") return downgradeToProtocol5(mux);
  return translate === "5to6" ? upgradeToProtocol6(mux) : mux;
}

function fakeServer({ name, on }: ServerSpec, protocol: 5 | 6, seen: CallSpec[]): PluginTransport {
  const answer = (method: string): Uint8Array => {
    const behaviour = on[method];
    if (behaviour?.reply !== undefined) {
      return encodeJson(methodTypes(protocol, method).response, behaviour.reply);
    }
    if (behaviour?.error !== undefined) throw new Error(behaviour.error.message ?? "");
    throw new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", `method ${method} not implemented`);
  };
  const close = async () => Promise.resolve();
  return {
    protocol,
    async unary(method, bytes) {
      const request = decodeJson(methodTypes(protocol, method).request, bytes);
      seen.push({ server: name, method, request });
      return answer(method);
    },
    async *stream(method, bytes) {
      const request = decodeJson(methodTypes(protocol, method).request, bytes);
      seen.push({ server: name, method, request });
      yield answer(method);
    },
    async clientStream(method, requests) {
      const requestStream: JsonObject[] = [];
      for await (const bytes of requests) {
        requestStream.push(decodeJson(methodTypes(protocol, method).request, bytes));
      }
      seen.push({ server: name, method, requestStream });
      return answer(method);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function runStep(
  mux: PluginTransport,
  request: RequestSpec,
  expected: StepExpectation,
  seen: readonly CallSpec[],
): Promise<string[]> {
  const problems: string[] = [];
  const types = methodTypes(mux.protocol, request.method);
  try {
    const reply = decodeJson(types.response, await send(mux, request));
    if (expected.error !== undefined) problems.push(`succeeded: ${JSON.stringify(reply)}`);
    if (expected.reply !== undefined) {
      const wanted = normalizeJson(types.response, expected.reply);
      if (!isDeepStrictEqual(reply, wanted)) {
        problems.push(`reply ${JSON.stringify(reply)} instead of ${JSON.stringify(wanted)}`);
      }
    }
    if (expected.diagnostics !== undefined) {
      const { diagnostics = [] } = reply;
      if (!isDeepStrictEqual(diagnostics, expected.diagnostics)) {
        problems.push(`diagnostics ${JSON.stringify(diagnostics)}`);
      }
    }
  } catch (error) {
    if (expected.error === undefined) problems.push(`failed: ${String(error)}`);
    else problems.push(...compareError(error, expected.error));
  }
  return [...problems, ...compareCalls(mux.protocol, seen, expected.calls)];
}

async function send(mux: PluginTransport, request: RequestSpec): Promise<Uint8Array> {
  const { method, requestStream } = request;
  const { request: type } = methodTypes(mux.protocol, method);
  if (requestStream === undefined) {
    return mux.unary(method, encodeJson(type, request.request ?? {}), {});
  }
  async function* chunks() {
    for (const chunk of requestStream ?? []) yield await Promise.resolve(encodeJson(type, chunk));
  }
  if (mux.clientStream === undefined) throw new Error("the mux has no client streams");
  return mux.clientStream(method, chunks(), {});
}

/** The calls that servers saw, in order; requests are compared where the vector says something of them. */
function compareCalls(
  protocol: 5 | 6,
  seen: readonly CallSpec[],
  expected: readonly CallSpec[],
): string[] {
  const text = ({ server, method }: CallSpec) => `${server} ${method}`;
  if (!isDeepStrictEqual(seen.map(text), expected.map(text))) {
    return [`calls ${seen.map(text).join(", ")} instead of ${expected.map(text).join(", ")}`];
  }
  return expected.flatMap((call, position) => {
    const actual = seen[position];
    const type = methodTypes(protocol, call.method).request;
    const wanted = call.request && normalizeJson(type, call.request);
    const stream = call.requestStream?.map((chunk) => normalizeJson(type, chunk));
    const same =
      (wanted === undefined || isDeepStrictEqual(actual?.request, wanted)) &&
      (stream === undefined || isDeepStrictEqual(actual?.requestStream, stream));
    return same ? [] : [`call ${text(call)} with ${JSON.stringify(actual)}`];
  });
}

function compareError(error: unknown, { code, message, contains = [] }: ErrorSpec): string[] {
  const status = error instanceof TfpluginError ? error.status : "UNKNOWN";
  const text = error instanceof Error ? error.message : String(error);
  const problems: string[] = [];
  if (status !== code) problems.push(`error ${status} instead of ${code}: ${text}`);
  if (message !== undefined && message !== text) problems.push(`error text ${text}`);
  for (const part of contains) {
    if (!`${status} ${text}`.toLowerCase().includes(part.toLowerCase())) {
      problems.push(`error text without ${part}: ${text}`);
    }
  }
  return problems;
}
