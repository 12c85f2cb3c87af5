import { setTimeout as delay } from "node:timers/promises";
import type { ServerPlace } from "./fleet.ts";

const AGAIN_MS = 100;

/** One event of a run, as a reader got it. */
interface ReadEvent {
  readonly seq: number;
  readonly type: string;
  /** The server that sent it. */
  readonly from: string;
}

/** Reads the events of a run from several servers: after each broken stream from the next one, behind the last event that it has. */
export class EventReader {
  readonly events: ReadEvent[] = [];
  /** How often a stream ended before the run did. */
  reconnected = 0;
  readonly done: Promise<void>;

  constructor(
    servers: readonly ServerPlace[],
    path: string,
    options: { readonly token: string; readonly signal: AbortSignal },
  ) {
    this.done = this.#read(servers, path, options);
  }

  async #read(
    servers: readonly ServerPlace[],
    path: string,
    { token, signal }: { readonly token: string; readonly signal: AbortSignal },
  ): Promise<void> {
    let lastId: string | undefined;
    for (let turn = 0; ; turn += 1) {
      const server = servers[turn % servers.length];
      if (server === undefined) return;
      try {
        const answer = await fetch(`${server.url}/api/v1/projects/default${path}/events`, {
          headers: {
            authorization: `Bearer ${token}`,
            ...(lastId !== undefined && { "last-event-id": lastId }),
          },
          signal,
        });
        if (answer.ok && answer.body !== null) {
          let rest = "";
          for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
            const blocks = (rest + chunk).split("\n\n");
            rest = blocks.pop() ?? "";
            for (const block of blocks) {
              const id = /^id: (.*)$/m.exec(block)?.[1];
              const type = /^event: (.*)$/m.exec(block)?.[1] ?? "message";
              if (id === undefined) continue;
              lastId = id;
              this.events.push({ seq: Number(id.split(":").at(-1)), type, from: server.name });
              if (type === "end") return;
            }
          }
        }
      } catch (error) {
        if (signal.aborted) throw error;
        // A server that is being replaced: the next one has the same events.
      }
      this.reconnected += 1;
      await delay(AGAIN_MS, undefined, { signal });
    }
  }
}
