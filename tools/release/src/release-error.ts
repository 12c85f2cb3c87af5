/** Why something of a release was not made. */
type ReleaseErrorCode =
  | "RELEASE_OPTION_INVALID"
  | "RELEASE_NOT_READY"
  | "RELEASE_NODE_INVALID"
  | "RELEASE_ADDRESS_INVALID"
  | "RELEASE_LICENSE";

export class ReleaseError extends Error {
  readonly code: ReleaseErrorCode;

  constructor(code: ReleaseErrorCode, message: string) {
    super(message);
    this.name = "ReleaseError";
    this.code = code;
  }
}
