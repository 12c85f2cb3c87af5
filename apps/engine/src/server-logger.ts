import { type DestinationStream, type Logger, pino } from "pino";

/** Where the rest of an address, or its next part, is a permission. */
const SIGNED =
  /(\/terraform\/v1\/(?:files|module-archives|upstream-packages)\/|\/api\/v2\/(?:(?:json-)?state-upload|state-content|configuration-upload|logs)\/)[^/]+/;

/** Signed addresses are permissions, so logs do not have them. */
export function loggedUrl(url: string): string {
  const [path = ""] = url.split("?");
  const query = url.length > path.length ? "?…" : "";
  return path.replace(SIGNED, "$1…").slice(0, 300) + query;
}

/**
 * Structured logs, one JSON object per line. Requests are logged by method and path; headers, queries
 * and bodies are not, as credentials and markers are in them.
 */
export function createServerLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: "stackwright" },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: {
      req: (request: { method: string; url: string; ip?: string; id?: string }) => ({
        method: request.method,
        url: loggedUrl(request.url),
        remoteAddress: request.ip,
      }),
      res: (reply: { statusCode: number }) => ({ statusCode: reply.statusCode }),
      err: pino.stdSerializers.err,
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
