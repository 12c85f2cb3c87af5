import { RpcError } from "@stackwright/proto/grpc";
import { combineFailures } from "./core/combine-errors.ts";
import { MuxError } from "./errors.ts";
import type { ServerHandle } from "./server-handle.ts";

/** What one server made of a broadcast. */
interface BroadcastResult<T> {
  readonly server: ServerHandle;
  /** Place of the server in the list of the mux. */
  readonly index: number;
  /** Absent when the server failed. */
  readonly reply?: T;
  /** Present when it failed. */
  readonly error?: RpcError;
}

type Ask<T> = (server: ServerHandle, index: number) => Promise<T>;

/** Asks all servers at the same time and waits for all of them. */
export async function broadcastParallel<T>(
  servers: readonly ServerHandle[],
  ask: Ask<T>,
): Promise<BroadcastResult<T>[]> {
  return Promise.all(servers.map((server, index) => askOne(server, index, ask)));
}

/** Asks one server after the other, in order, and all of them regardless of the answers. */
export async function broadcastSequential<T>(
  servers: readonly ServerHandle[],
  ask: Ask<T>,
): Promise<BroadcastResult<T>[]> {
  const results: BroadcastResult<T>[] = [];
  for (const [index, server] of servers.entries()) {
    results.push(await askOne(server, index, ask));
  }
  return results;
}

async function askOne<T>(
  server: ServerHandle,
  index: number,
  ask: Ask<T>,
): Promise<BroadcastResult<T>> {
  try {
    return { server, index, reply: await ask(server, index) };
  } catch (error) {
    return { server, index, error: toRpcError(error) };
  }
}

/** Replies of the servers that succeeded, in server order. */
export function repliesOf<T>(
  results: readonly BroadcastResult<T>[],
): { readonly server: ServerHandle; readonly index: number; readonly reply: T }[] {
  return results.flatMap(({ server, index, reply, error }) =>
    error === undefined ? [{ server, index, reply: reply as T }] : [],
  );
}

/**
 * Throws what the errors of a broadcast amount to. A crash counts as little as possible: next to an answer that
 * explains why the call failed it adds nothing.
 */
export function throwFailures(results: readonly BroadcastResult<unknown>[]): void {
  const failures = results.flatMap(({ server, error }) =>
    error === undefined ? [] : [{ server: server.name, error }],
  );
  const explained = failures.filter(
    ({ error }) => !isCrash(error) && error.code !== "UNIMPLEMENTED",
  );
  const counted = explained.length > 0 ? failures.filter(({ error }) => !isCrash(error)) : failures;
  const combined = combineFailures(counted, results.length);
  if (combined !== undefined) throw combined;
}

function isCrash({ cause }: RpcError): boolean {
  return cause instanceof MuxError && cause.code === "MUX_SERVER_CRASHED";
}

/** Any error as a status: those of the mux under their own, the others as gRPC has it. */
export function toRpcError(error: unknown): RpcError {
  return error instanceof MuxError
    ? new RpcError(error.status, error.message, { cause: error })
    : RpcError.from(error);
}
