import type { FgBridgeErrorCode } from "@stackwright/fg-bridge";

/** Errors whose texts say how a function or its platform answered, or that the table does not have it: none of them says where it is. */
const SAID: ReadonlySet<string> = new Set<FgBridgeErrorCode>([
  "FG_FORBIDDEN",
  "FG_FUNCTION_ERROR",
  "FG_FUNCTION_NOT_FOUND",
  "FG_FUNCTION_STATUS",
  "FG_REDIRECT_REFUSED",
  "FG_REQUEST_TOO_LARGE",
  "FG_RESPONSE_INVALID",
  "FG_TARGET_UNKNOWN",
  "FG_THROTTLED",
  "FG_UNAUTHORIZED",
  "FG_URN_INVALID",
]);

/** What is said instead of a text that names an address. */
const TEXTS: Partial<Record<FgBridgeErrorCode, string>> = {
  FG_ADDRESS_REFUSED:
    "the address of the function is refused: no network of the server's table of functions has it",
  FG_BREAKER_OPEN: "the function failed repeatedly, and is not called for the moment",
  FG_CONNECTION_LOST: "the connection to the function was lost",
  FG_RESPONSE_TOO_LARGE: "the answer of the function is too large",
  FG_TIMEOUT: "the function does not answer in time",
  FG_UNREACHABLE: "no connection to the function could be made",
};

/** What those who see a version read of a failed check of its function: how it failed, never at which address, which is for the log of the server. */
export function functionProblem(error: unknown): string {
  const { code, message } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  if (typeof code !== "string" || !/^FG_[A-Z_]{1,40}$/.test(code)) {
    return "the function does not answer as it should; the log of the server says more";
  }
  if (SAID.has(code) && typeof message === "string") return message;
  const text = TEXTS[code as FgBridgeErrorCode] ?? "the function does not answer as it should";
  return `${text} (${code}); the log of the server says more`;
}
