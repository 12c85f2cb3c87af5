import type { FgBridgeErrorCode } from "./errors.ts";

/** Something that was refused for the sake of security, for the log that is kept. */
export interface AuditEvent {
  readonly kind:
    | "address-refused"
    | "redirect-refused"
    | "target-refused"
    | "caller-refused"
    | "envelope-refused"
    | "operation-refused";
  readonly code: FgBridgeErrorCode;
  /** One sentence, without secrets and payloads. */
  readonly reason: string;
  /** Function, host or address that was asked for, as far as it is known. */
  readonly subject?: string;
  /** Who asked, as far as it is known: an access key, a project. */
  readonly caller?: string;
}

/** Takes audit events; must not throw. */
export type AuditSink = (event: AuditEvent) => void;
