import { type ChildLoggerOptions, type DestinationStream, type Logger, pino } from "pino";
import type { TraceScope } from "./span/trace-scope.ts";

/** Where the rest of an address, or its next part, is a permission. */
const SIGNED =
  /(\/terraform\/v1\/(?:files|module-archives|upstream-packages)\/|\/api\/v2\/(?:(?:json-)?state-upload|state-content|configuration-upload|logs)\/)[^/]+/;

/** Signed addresses are permissions, so logs do not have them. */
export function loggedUrl(url: string): string {
  const [path = ""] = url.split("?");
  const query = url.length > path.length ? "?…" : "";
  return path.replace(SIGNED, "$1…").slice(0, 300) + query;
}

/** Of a log whose lines have their trace without a look at the scope. */
const TRACED = Symbol("traced");

/** A log of one work, whose trace is among what its lines have. */
export function tracedChild(
  logger: Logger,
  bindings: Record<string, unknown>,
  options: ChildLoggerOptions = {},
): Logger {
  return Object.assign(logger.child(bindings, options), { [TRACED]: true });
}

/**
 * Structured logs, one JSON object per line. Requests are logged by method and path; headers, queries
 * and bodies are not, as credentials and markers are in them. What is logged as part of a work has its trace, and its run.
 */
export function createServerLogger(
  level: string,
  destination?: DestinationStream,
  traces?: TraceScope,
): Logger {
  const options = {
    level,
    base: { service: "stackwright" },
    mixin: (_data: object, _level: number, logger: object) =>
      traces === undefined || TRACED in logger ? {} : { ...traces.logged },
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
