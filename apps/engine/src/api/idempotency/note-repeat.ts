import type { Principal } from "@stackwright/registry";
import type { FastifyRequest } from "fastify";
import { auditTargetOf } from "../../access/audit-target.ts";
import type { AuditTrail } from "../../access/registry-audit.ts";

/** Notes in the audit trail who got an answer again that may have a secret: such as a token, which any holder may use. */
export function noteRepeatIn(audit: Pick<AuditTrail, "note">) {
  return async (request: FastifyRequest, principal: Principal): Promise<void> => {
    const target = auditTargetOf(request);
    await audit.note(request, principal, { action: "RepeatAnswer", target, outcome: "done" });
  };
}
