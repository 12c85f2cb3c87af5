/** An answer of the platform itself, before or instead of the function's. */
export class PlatformError extends Error {
  override readonly name = "PlatformError";
  readonly status: number;
  /** `FSS.` and four digits. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
