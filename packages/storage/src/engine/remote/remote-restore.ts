import { Resource as ResourceMessage } from "@stackwright/proto/consul-resource";
import type { RpcClient } from "@stackwright/proto/grpc";
import { RestoreRequest, type StorageService } from "@stackwright/proto/storage";
import type { StorageLimits } from "../../capabilities.ts";
import { resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { Restore } from "../../types.ts";
import { checkResource } from "../../validate.ts";
import { cutRequest, WHOLE_REQUEST_BYTES } from "./large-requests.ts";
import { rpcToStorageError } from "./wire-error.ts";

/** A restore as a stream to the server; any failure before the commit aborts it. */
export function createRemoteRestore(
  client: RpcClient<typeof StorageService>,
  limits: StorageLimits,
  begin: () => void,
): Restore {
  const stopping = new AbortController();
  const requests = new RequestQueue();
  let count = 0n;
  let over = false;
  const answer = client.restore(requests, { signal: stopping.signal });
  // The next commit or apply reports it.
  const failed = answer.then(
    () => undefined,
    (error: unknown) => {
      requests.stop();
      return { error };
    },
  );

  const check = (): void => {
    begin();
    if (over) throw new StorageError("STORAGE_INVALID_ARGUMENT", "the restore is over");
  };
  const abort = async (): Promise<void> => {
    if (over) return;
    over = true;
    stopping.abort(new Error("the restore was aborted"));
    requests.stop();
    await failed;
  };

  return {
    apply: async (resource: Resource) => {
      check();
      checkResource(resource, limits);
      if (resource.version === "") {
        throw new StorageError("STORAGE_INVALID_ARGUMENT", "a restored resource has a version", {
          details: { field: "resource.version" },
        });
      }
      count += 1n;
      for (const request of requestsOf(resource)) await requests.send(request);
    },
    commit: async () => {
      check();
      over = true;
      const value = { resources: count };
      await requests.send(RestoreRequest.create({ step: { $case: "commit", value } }));
      requests.stop();
      const failure = await failed;
      if (failure !== undefined) throw rpcToStorageError(failure.error, "write");
    },
    abort,
    [Symbol.asyncDispose]: abort,
  };
}

/** What adds a resource: one message, or several for a large one. */
function* requestsOf(resource: Resource): Generator<RestoreRequest> {
  const message = resourceToMessage(resource);
  if ((resource.data?.value.length ?? 0) <= WHOLE_REQUEST_BYTES) {
    const value = { resources: [message] };
    yield RestoreRequest.create({ step: { $case: "apply", value } });
    return;
  }
  const bytes = ResourceMessage.encode(message).finish();
  let left = bytes.length;
  for (const piece of cutRequest(bytes)) {
    left -= piece.length;
    const value = { bytes: piece, last: left === 0 };
    yield RestoreRequest.create({ step: { $case: "piece", value } });
  }
}

/** Requests one at a time: a sender waits until the one before was taken. */
class RequestQueue implements AsyncIterable<RestoreRequest> {
  #requests: RestoreRequest[] = [];
  #stopped = false;
  #onChange: (() => void) | undefined;
  #onTaken: (() => void) | undefined;

  async send(request: RestoreRequest): Promise<void> {
    this.#requests.push(request);
    this.#onChange?.();
    while (this.#requests.length > 16 && !this.#stopped) {
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#onChange?.();
    this.#onTaken?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RestoreRequest> {
    for (;;) {
      const request = this.#requests.shift();
      this.#onTaken?.();
      if (request !== undefined) {
        yield request;
      } else if (this.#stopped) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#onChange = resolve;
        });
      }
    }
  }
}
