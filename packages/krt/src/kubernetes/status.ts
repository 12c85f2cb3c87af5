/** HTTP status of a resource version that the server no longer has. */
const GONE = 410;

/** What a Kubernetes API refused with. `code` is the HTTP status, `reason` the word of the API for it. */
export class KubernetesStatusError extends Error {
  override readonly name = "KubernetesStatusError";
  readonly code: number;
  readonly reason: string | undefined;

  constructor(code: number, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  /** Reads the `Status` object in an answer or event, as far as it is one. */
  static fromStatus(status: unknown, fallback: number): KubernetesStatusError {
    const { code, message, reason } = (status ?? {}) as Record<string, unknown>;
    const known = typeof code === "number" ? code : fallback;
    return new KubernetesStatusError(
      known,
      typeof message === "string" ? message : `the API server answered with status ${known}`,
      typeof reason === "string" ? reason : undefined,
    );
  }
}

/** Whether an error says that a version is too old, whichever client threw it. */
export function isGone(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  return code === GONE || statusCode === GONE;
}
