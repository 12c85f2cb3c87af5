import { type Authenticator, isRegistryError } from "@stackwright/registry";
import { Counter, Gauge, type Registry } from "prom-client";

/** What a caller is known by. */
type How = "token" | "signature" | "session" | "none";

/** How requests are recognised, and how many streams of events are open. */
export class AccessMetrics {
  readonly #judged: Counter<"how" | "outcome">;
  readonly #streams: Gauge<"mode">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#judged = new Counter({
      name: "stackwright_auth_total",
      help: "Authentications of requests, by what the caller is known by and what came of it. Streams are judged again while they are open.",
      labelNames: ["how", "outcome"],
      registers,
    });
    this.#streams = new Gauge({
      name: "stackwright_sse_clients",
      help: "Open streams of events of this server.",
      labelNames: ["mode"],
      registers,
    });
    for (const mode of ["run", "watch"] as const) this.#streams.set({ mode }, 0);
  }

  /** A stream of a run, or of topics, is opened; the returned function is called when it is over. */
  opens(mode: "run" | "watch"): () => void {
    this.#streams.inc({ mode });
    return () => this.#streams.dec({ mode });
  }

  /** Counts what another one says. */
  observe(inner: Authenticator): Authenticator {
    return {
      ...inner,
      authenticate: async (request) => {
        const how = howOf(request.headers);
        try {
          const principal = await inner.authenticate(request);
          this.#judged.inc({ how, outcome: "accepted" });
          return principal;
        } catch (error) {
          const isRefused =
            isRegistryError(error, "REGISTRY_UNAUTHENTICATED") ||
            isRegistryError(error, "REGISTRY_FORBIDDEN");
          this.#judged.inc({ how, outcome: isRefused ? "refused" : "failed" });
          throw error;
        }
      },
    };
  }
}

function howOf(headers: readonly (readonly [string, string])[]): How {
  const has = (name: string): string | undefined =>
    headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const authorization = has("authorization");
  if (has("x-auth-token") !== undefined) return "token";
  if (authorization !== undefined) return /^bearer /i.test(authorization) ? "token" : "signature";
  return has("cookie") === undefined ? "none" : "session";
}
