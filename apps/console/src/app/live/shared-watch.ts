import { ClientError, type ServerClient, type StackStatusChange } from "@stackwright/client";
import type { SessionCredential } from "../session/session.ts";
import type { StackStore } from "./stack-store.ts";
import type { ToTab, ToWorker } from "./watch-messages.ts";
// vite makes a file of its own of it, and this its address.
// oxlint-disable-next-line import/default
import workerUrl from "./watch-worker.ts?worker&url";

interface SharedWatchParts {
  readonly credential: SessionCredential;
  readonly trusted: (url: URL) => string;
  readonly store: Pick<StackStore, "stream">;
  readonly onRefused: () => void;
}

/** Whether a browser has what one stream for all tabs needs. */
export function canShareWatch(): boolean {
  return typeof SharedWorker === "function" && "locks" in navigator && "subtle" in crypto;
}

/**
 * The changes of the stacks from the one stream that all tabs of the browser share which are signed in with the same credential.
 */
export function sharedWatch(parts: SharedWatchParts): Pick<ServerClient, "watchStacks"> {
  const life = `stackwright-tab-${crypto.randomUUID()}`;
  // Held until the tab is gone. It is asked for before any port is, so that the worker comes second.
  const isAlive = new Promise<void>((resolve) => {
    void navigator.locks.request(life, async () => {
      resolve();
      return new Promise<never>(() => undefined);
    });
  });
  return {
    watchStacks: ({ signal } = {}) => follow(parts, life, isAlive, signal),
  };
}

async function* follow(
  { credential, trusted, store, onRefused }: SharedWatchParts,
  life: string,
  isAlive: Promise<void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StackStatusChange> {
  const name = await nameOf(credential);
  await isAlive;
  signal?.throwIfAborted();
  const { port } = new SharedWorker(trusted(new URL(workerUrl, location.origin)), {
    type: "module",
    name,
  });
  const send = (message: ToWorker): void => port.postMessage(message);
  const changes: StackStatusChange[] = [];
  let news = Promise.withResolvers<void>();
  const wake = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  let failure: Extract<ToTab, { readonly type: "failed" }> | undefined;
  port.addEventListener("message", ({ data }: MessageEvent<ToTab>) => {
    if (data.type === "stream") store.stream(data.state);
    else if (data.type === "refused") onRefused();
    else if (data.type === "failed") failure = data;
    else changes.push(data.change);
    wake();
  });
  port.start();
  signal?.addEventListener("abort", wake, { once: true });
  send({ type: "listen", credential, life });
  try {
    for (;;) {
      const next = changes.shift();
      if (next !== undefined) yield next;
      else if (failure !== undefined) {
        const { code = "CLIENT_UNEXPECTED_ANSWER", message, status, problem } = failure;
        throw new ClientError(code, message, {
          ...(status !== undefined && { status }),
          ...(problem !== undefined && { problem }),
        });
      } else {
        signal?.throwIfAborted();
        await news.promise;
      }
    }
  } finally {
    send({ type: "leave" });
    port.close();
  }
}

/** Tells the workers of credentials apart without naming any. */
async function nameOf(credential: SessionCredential): Promise<string> {
  const key = credential.kind === "token" ? credential.token : credential.csrf;
  const bytes = new TextEncoder().encode(`${credential.kind} ${key}`);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return `stackwright-${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
