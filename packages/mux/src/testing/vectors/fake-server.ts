import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { deferred } from "@stackwright/base/deferred";
import { type RpcCode, RpcError } from "@stackwright/proto/grpc";
import type { CallContext } from "../../call-context.ts";
import { encodeJson } from "./proto-json.ts";
import { functionName, isStream, type Protocol } from "./protocol.ts";
import type { Behaviour, ErrorSpec, JsonObject, ServerSpec } from "./vector-file.ts";

/** A call that a fake server saw. */
interface SeenCall {
  readonly server: string;
  readonly method: string;
  readonly request: JsonObject;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly hasDeadline: boolean;
}

/** What all fake servers of a run saw, since it was last reset. */
export class Recorder {
  calls: SeenCall[] = [];
  /** Servers in the order in which they answered. */
  finished: string[] = [];
  /** The most calls that ran at the same time. */
  overlap = 0;
  /** Items that servers produced for streams. */
  produced = 0;
  readonly schemaCalls = new Map<string, number>();
  #running = 0;

  reset(): void {
    this.calls = [];
    this.finished = [];
    this.overlap = 0;
    this.produced = 0;
  }

  begin(call: SeenCall): void {
    this.calls.push(call);
    this.#running += 1;
    this.overlap = Math.max(this.overlap, this.#running);
  }

  end(server: string): void {
    this.#running -= 1;
    this.finished.push(server);
  }
}

/** A provider that behaves as a vector says, and writes down what it is asked. */
export function createFakeServer(spec: ServerSpec, recorder: Recorder, protocol: Protocol): object {
  const handlers = protocol.methods.map((method) => [
    functionName(method),
    isStream(method)
      ? streamHandler(spec, method, recorder, protocol)
      : handler(spec, method, recorder, protocol),
  ]);
  return Object.fromEntries(handlers) as object;
}

function behaviourOf({ on, schema }: ServerSpec, method: string, request: JsonObject): Behaviour {
  if (method === "GetSchema" && request.subpackageName !== undefined) {
    return on.GetSchemaAfterParameterize ?? { unimplemented: true };
  }
  const given = on[method];
  if (given !== undefined) return given;
  if (method === "GetSchema" && schema !== undefined) {
    return { reply: { schema: JSON.stringify(schema) } };
  }
  return { unimplemented: true };
}

function handler(spec: ServerSpec, method: string, recorder: Recorder, protocol: Protocol) {
  return async (message: unknown, context: CallContext): Promise<unknown> => {
    const request = protocol.fromRequest(method, message);
    const behaviour = behaviourOf(spec, method, request);
    if (method === "GetSchema") {
      recorder.schemaCalls.set(spec.name, (recorder.schemaCalls.get(spec.name) ?? 0) + 1);
      await obey(behaviour, method, context);
      return protocol.toResponse(method, behaviour.reply ?? {});
    }
    recorder.begin(seen(spec.name, method, request, context));
    try {
      await obey(behaviour, method, context);
      return protocol.toResponse(method, behaviour.reply ?? {});
    } finally {
      recorder.end(spec.name);
    }
  };
}

function streamHandler(spec: ServerSpec, method: string, recorder: Recorder, protocol: Protocol) {
  return async function* (message: unknown, context: CallContext): AsyncGenerator {
    const request = protocol.fromRequest(method, message);
    const behaviour = behaviourOf(spec, method, request);
    recorder.begin(seen(spec.name, method, request, context));
    try {
      const { stream, generate, error, ...rest } = behaviour;
      await obey(rest, method, context);
      for (const item of stream ?? []) {
        recorder.produced += 1;
        yield protocol.toResponse(method, item);
      }
      for (let index = 0; index < (generate?.count ?? 0); index += 1) {
        recorder.produced += 1;
        yield protocol.toResponse(method, generate?.item ?? {});
      }
      if (error !== undefined) throw toRpcError(error);
    } finally {
      recorder.end(spec.name);
    }
  };
}

function seen(
  server: string,
  method: string,
  request: JsonObject,
  { metadata, deadline }: CallContext,
): SeenCall {
  return {
    server,
    method,
    request,
    metadata: metadata?.getMap() ?? {},
    hasDeadline: deadline !== undefined,
  };
}

/** Does what comes before a reply: wait, fail, hang. */
async function obey(behaviour: Behaviour, method: string, { signal }: CallContext): Promise<void> {
  // Calls of one broadcast all begin before the first of them ends.
  await nextTurn();
  if (behaviour.delayMs !== undefined) {
    await sleep(behaviour.delayMs, undefined, signal && { signal });
  }
  if (behaviour.panic !== undefined) throw new Error(behaviour.panic);
  if (behaviour.down === true) throw new RpcError("UNAVAILABLE", "connection refused");
  if (behaviour.unimplemented === true) {
    throw new RpcError("UNIMPLEMENTED", `method ${method} not implemented`);
  }
  if (behaviour.error !== undefined) throw toRpcError(behaviour.error);
  if (behaviour.hang === true) {
    const { promise, reject } = deferred<never>();
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    await promise;
  }
}

function toRpcError({ code, message, details = [] }: ErrorSpec): RpcError {
  return new RpcError(code as RpcCode, message ?? "", {
    details: details.map(({ type, value }) => ({
      typeUrl: `type.googleapis.com/${type}`,
      value: encodeJson(type, value),
    })),
  });
}
