import { createServerClient } from "@stackwright/client";
import { credentialFetch } from "../session/credential-fetch.ts";
import type { SessionCredential } from "../session/session.ts";
import { type Listener, WatchHub } from "./watch-hub.ts";
import type { ToTab, ToWorker } from "./watch-messages.ts";

// Has one stream for all tabs of a browser that are signed in with one credential, by which the worker is named: over HTTP/1.1 a browser
// has six connections to a server for all its tabs.

let hub: WatchHub | undefined;

function hubOf(credential: SessionCredential): WatchHub {
  const send = credentialFetch(credential);
  return new WatchHub((tell, signal) => {
    const client = createServerClient({
      server: location.origin,
      ...(credential.kind === "token" && { token: credential.token }),
      fetch: async (input, init) => {
        tell({ type: "stream", state: "reconnecting" });
        const answer = await send(input, init);
        if (answer.ok) tell({ type: "stream", state: "live" });
        if (answer.status === 401) tell({ type: "refused" });
        return answer;
      },
    });
    return client.watchStacks({ signal, giveUpMs: Number.POSITIVE_INFINITY });
  });
}

function attach(port: MessagePort): void {
  const listener: Listener = { send: (message: ToTab) => port.postMessage(message) };
  const lives = new Set<string>();
  port.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
    if (data.type === "leave") {
      hub?.remove(listener);
      return;
    }
    hub ??= hubOf(data.credential);
    const { life } = data;
    if (!lives.has(life)) {
      lives.add(life);
      // The lock is free once its tab is gone, however it went.
      void navigator.locks.request(life, () => hub?.remove(listener));
    }
    hub.add(listener);
  });
  port.start();
}

addEventListener("connect", (event) => {
  for (const port of (event as MessageEvent).ports) attach(port);
});
