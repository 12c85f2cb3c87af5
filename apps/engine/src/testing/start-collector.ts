import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A span as a collector gets it. */
interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code: number };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

type Value = Readonly<Record<string, string | number | boolean>>;
interface Body {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, "attributes"> & {
        readonly attributes: readonly { readonly key: string; readonly value: Value }[];
      })[];
    }[];
  }[];
}

/** A collector of traces on this machine. `answers` may be changed: the next ones, 200 after them. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const requests: {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly text: string;
  }[] = [];
  const answers: number[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      requests.push({ path: request.url ?? "", headers: request.headers, text: body });
      const status = answers.shift() ?? 200;
      if (status === 200) {
        for (const resource of (JSON.parse(body) as Body).resourceSpans) {
          for (const scope of resource.scopeSpans) {
            for (const { attributes, ...span } of scope.spans) {
              const entries = attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
              spans.push({ ...span, attributes: Object.fromEntries(entries) as Value });
            }
          }
        }
      }
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, requests, answers };
}
