import type { ServerClient, StackStatus } from "@stackwright/client";
import { FrameStore } from "./frame-store.ts";

/** How current the data of a stream are. */
type StreamState = "connecting" | "live" | "reconnecting" | "failed";

interface StacksSnapshot {
  readonly state: StreamState;
  /** Since when the stream has been in this state, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** False until the first snapshot came. */
  readonly isLoaded: boolean;
  /** By project and name. */
  readonly stacks: readonly StackStatus[];
  /** Why the stream ended for good; undefined where it did not. */
  readonly error: unknown;
}

/** The status of all stacks, as the server last sent it. */
export class StackStore extends FrameStore<StacksSnapshot> {
  readonly #stacks = new Map<string, StackStatus>();
  #state: StreamState = "connecting";
  #sinceMs = Date.now();
  #isLoaded = false;
  #error: unknown;
  #snapshot: StacksSnapshot = {
    state: "connecting",
    sinceMs: this.#sinceMs,
    isLoaded: false,
    stacks: [],
    error: undefined,
  };

  readonly snapshot = (): StacksSnapshot => this.#snapshot;

  /** A stream of the client was opened, or is being opened again. */
  stream(state: "live" | "reconnecting"): void {
    if (this.#state === "connecting" && state === "reconnecting") return;
    this.#enter(state);
  }

  /** Follows the stacks until the signal aborts or the server refuses. What was refused may be followed again. */
  async follow(client: Pick<ServerClient, "watchStacks">, signal: AbortSignal): Promise<void> {
    if (this.#state === "failed") {
      this.#error = undefined;
      this.#enter("connecting");
    }
    try {
      const changes = client.watchStacks({ signal, giveUpMs: Number.POSITIVE_INFINITY });
      for await (const change of changes) {
        if (change.type === "snapshot") this.#stacks.clear();
        for (const status of change.set) this.#stacks.set(status.id, status);
        for (const id of change.delete) this.#stacks.delete(id);
        this.#isLoaded = true;
        this.#enter("live");
        this.changed();
      }
    } catch (error) {
      if (signal.aborted) {
        this.#enter("reconnecting");
        return;
      }
      this.#error = error;
      this.#enter("failed");
    }
  }

  #enter(state: StreamState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#sinceMs = Date.now();
    this.changed();
  }

  protected publish(): void {
    const key = ({ project, name }: StackStatus): string => `${project}/${name}`;
    this.#snapshot = {
      state: this.#state,
      sinceMs: this.#sinceMs,
      isLoaded: this.#isLoaded,
      stacks: [...this.#stacks.values()].sort((left, right) => (key(left) < key(right) ? -1 : 1)),
      error: this.#error,
    };
  }
}
