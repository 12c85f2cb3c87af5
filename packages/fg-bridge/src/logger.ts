import { createHash } from "node:crypto";

/** Where this package says what nobody asked for; the child loggers of pino fit. */
export interface Logger {
  debug(data: object, message: string): void;
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
}

/** Drops everything. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** All that a log may say of a payload: payloads carry provider credentials and secret values. */
export function describePayload(bytes: Uint8Array): {
  readonly bytes: number;
  readonly sha256: string;
} {
  return {
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
  };
}
