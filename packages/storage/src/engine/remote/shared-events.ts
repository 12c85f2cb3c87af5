import { WatchListResponse } from "@stackwright/proto/storage";
import { resourceToMessage } from "../../codec.ts";
import type { ResourceId } from "../../resource.ts";
import type { WatchEvent } from "../../types.ts";

/** How many encoded events are kept for further watches, and their bytes at most, beside a last one. */
const MOST_EVENTS = 1_024;
const MOST_BYTES = 4 * 1024 * 1024;

type ResourceEvent = Extract<WatchEvent, { readonly resource: unknown }>;

/** An event that was encoded. */
interface EncodedEvent {
  readonly operation: ResourceEvent["operation"];
  readonly version: string;
  readonly cursor: string | undefined;
  readonly response: WatchListResponse;
  readonly bytes: Uint8Array;
}

// What watches deliver of one commit differs in the copy of its data alone: the id is one object, as a store freezes it once for
// each write. So the id finds what was encoded; operation, version and cursor say that it is of the same commit and not, for
// example, of the deletion.

/** Encodes an event once, however many watches of a service it goes to. */
export class SharedEvents {
  /** The oldest first. */
  readonly #events = new Map<ResourceId, EncodedEvent>();
  readonly #encoded = new WeakMap<WatchListResponse, Uint8Array>();
  #bytes = 0;
  #watches = 0;
  #encodings = 0;

  /** How many events were encoded so far. */
  get encodings(): number {
    return this.#encodings;
  }

  /** Counts a watch until it is disposed: with one alone there is nothing to share. */
  join(): Disposable {
    this.#watches += 1;
    return {
      [Symbol.dispose]: () => {
        this.#watches -= 1;
        if (this.#watches > 1) return;
        this.#events.clear();
        this.#bytes = 0;
      },
    };
  }

  /** The message of an event, the same one for each watch. */
  toResponse(event: WatchEvent): WatchListResponse {
    if (!("resource" in event)) {
      return { events: [{ event: { $case: event.operation, value: {} }, cursor: event.cursor }] };
    }
    if (this.#watches < 2) return responseOf(event);
    const { operation, resource, cursor } = event;
    const { id, version } = resource;
    const known = this.#events.get(id);
    if (known?.operation === operation && known.version === version && known.cursor === cursor) {
      return known.response;
    }
    if (known !== undefined) this.#forget(id, known);
    const response = responseOf(event);
    const bytes = this.#encode(response);
    this.#encoded.set(response, bytes);
    this.#events.set(id, { operation, version, cursor, response, bytes });
    this.#bytes += bytes.byteLength;
    this.#forgetOldest();
    return response;
  }

  /** The bytes of a message. */
  serialize(response: WatchListResponse): Uint8Array {
    return this.#encoded.get(response) ?? this.#encode(response);
  }

  #encode(response: WatchListResponse): Uint8Array {
    this.#encodings += 1;
    return WatchListResponse.encode(response).finish();
  }

  #forgetOldest(): void {
    for (const [id, event] of this.#events) {
      const isWithin = this.#events.size <= MOST_EVENTS && this.#bytes <= MOST_BYTES;
      if (isWithin || this.#events.size === 1) return;
      this.#forget(id, event);
    }
  }

  #forget(id: ResourceId, { bytes }: EncodedEvent): void {
    this.#events.delete(id);
    this.#bytes -= bytes.byteLength;
  }
}

function responseOf({ operation, resource, cursor }: ResourceEvent): WatchListResponse {
  return { events: [{ event: { $case: operation, value: resourceToMessage(resource) }, cursor }] };
}
