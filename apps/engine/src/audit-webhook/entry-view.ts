import type { NumberedAuditEntry } from "@stackwright/registry";

/** An entry of the audit trail as programs get it. */
interface ExportedAuditEntry {
  readonly sequence: number;
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly request_id: string;
  readonly client_request_id?: string;
  readonly remote_address?: string;
  readonly credential?: string;
}

/** One entry as it is exported and sent. */
export function exportedEntry(entry: NumberedAuditEntry): ExportedAuditEntry {
  const { sequence, id, timeMs, actor, action, target, outcome, requestId } = entry;
  const { clientRequestId, remoteAddress, details } = entry;
  const { credential } = details;
  return {
    sequence,
    id,
    at: new Date(Math.floor(timeMs)).toISOString(),
    actor,
    action,
    target,
    outcome,
    request_id: requestId,
    ...(clientRequestId !== "" && { client_request_id: clientRequestId }),
    ...(remoteAddress !== "" && { remote_address: remoteAddress }),
    ...(credential !== undefined && { credential }),
  };
}
