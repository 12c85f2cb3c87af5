import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@stackwright/base/logger";
import { serverAddress } from "@stackwright/client";

/** How often each server is asked whether it is ready. */
const CHECK_MS = 2_000;
/** A server that says nothing for so long counts as away: well below the 10 s after which a lease that is not renewed is given up. */
const SILENCE_MS = 3_000;

/** One server of a group. */
export interface GroupMember {
  readonly url: string;
  /** Aborts when the server is ready no longer, and another one is. A new one follows. */
  gone: AbortController;
  state: "ready" | "draining" | "away";
  /** Whether that was done since the server was ready. */
  isLeft: boolean;
}

interface ServerGroupParts {
  /** Addresses of servers on one store; the first that is ready is used. */
  readonly servers: readonly string[];
  readonly logger: Logger;
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
}

/**
 * Several servers of one store, of which one is used until it drains, has lost its store, or stops answering. Requests in progress at such a
 * server fail at once when another one is ready, as if its connection were lost, so that their callers send them to that one.
 */
export class ServerGroup implements AsyncDisposable {
  readonly members: readonly GroupMember[];
  readonly #parts: ServerGroupParts;
  readonly #closing = new AbortController();
  readonly #checking: Promise<void>;
  #current = 0;

  constructor(parts: ServerGroupParts) {
    this.#parts = parts;
    this.members = parts.servers.map((server) => ({
      url: serverAddress(server),
      gone: new AbortController(),
      state: "ready",
      isLeft: false,
    }));
    this.#checking = this.members.length > 1 ? this.#check() : Promise.resolve();
  }

  /** The server that is used now. */
  get current(): GroupMember {
    return this.members[this.#current] as GroupMember;
  }

  /** `fetch` for clients of the first server: it sends what is for that one to the server that is used. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const send = this.#parts.fetch ?? globalThis.fetch;
    const member = this.current;
    const url = input instanceof Request ? input.url : input.toString();
    const target = url.slice(this.members[0]?.url.length);
    const { signal } = init;
    const gone = signal ? AbortSignal.any([signal, member.gone.signal]) : member.gone.signal;
    try {
      const answer = await send(`${member.url}${target}`, { ...init, signal: gone });
      if (answer.status === 503) this.leave(member);
      return answer;
    } catch (error) {
      if (signal?.aborted !== true) this.leave(member);
      throw error;
    }
  };

  /** Uses another server, if `member` is still the one in use: the next that is ready, or that at least answers. */
  leave(member: GroupMember): void {
    if (member !== this.current || this.members.length === 1) return;
    const following = this.members.map(
      (_, index) => (this.#current + 1 + index) % this.members.length,
    );
    const next =
      following.find((index) => this.#isOther(index, "ready")) ??
      following.find((index) => this.#isOther(index, "draining")) ??
      following[0] ??
      0;
    this.#current = next;
    this.#parts.logger.warn({ from: member.url, to: this.current.url }, "another server is used");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("the worker ends"));
    await this.#checking;
  }

  #isOther(index: number, state: GroupMember["state"]): boolean {
    return index !== this.#current && this.members[index]?.state === state;
  }

  async #check(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const states = await Promise.all(this.members.map((member) => this.#stateOf(member)));
      if (signal.aborted) return;
      const isOtherReady = states.includes("ready");
      for (const [index, member] of this.members.entries()) {
        member.state = states[index] ?? "away";
        if (member.state === "ready") member.isLeft = false;
        // Where no other one is ready, the fault may be here: what is in progress stays.
        if (member.state === "ready" || member.isLeft || !isOtherReady) continue;
        member.isLeft = true;
        const { gone } = member;
        member.gone = new AbortController();
        gone.abort(new Error(`the server ${member.url} is not ready`));
      }
      if (isOtherReady && this.current.state !== "ready") this.leave(this.current);
      await delay(CHECK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #stateOf(member: GroupMember): Promise<GroupMember["state"]> {
    const send = this.#parts.fetch ?? globalThis.fetch;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(SILENCE_MS)]);
    try {
      const answer = await send(`${member.url}/readyz`, { signal, redirect: "manual" });
      await answer.arrayBuffer();
      return answer.ok ? "ready" : "draining";
    } catch {
      return "away";
    }
  }
}
