import type {
  AuditPage,
  NumberedAuditEntry,
  Principal,
  Registry,
  RequestContext,
} from "@stackwright/registry";
import type { BatchOperation } from "@stackwright/storage";
import type { FastifyRequest } from "fastify";

/** What was asked for, and what came of it. */
interface AuditFacts {
  /** Such as `CreateRun`. */
  readonly action: string;
  readonly target: string;
  /** `done`, or the code of the refusal. */
  readonly outcome: string;
}

type AuditedCredential = Pick<Principal, "account" | "actor" | "credential">;

/** Who asks for a change, and by which request. */
export interface AuditCaller extends AuditedCredential {
  readonly requestId: string;
  readonly remoteAddress: string;
}

export function auditCaller(
  { id, ip }: FastifyRequest,
  { account, actor, credential }: AuditedCredential,
): AuditCaller {
  return {
    account,
    actor,
    ...(credential !== undefined && { credential }),
    requestId: id,
    remoteAddress: ip,
  };
}

/** Where changes and refusals are noted, with those who asked for them. Never rejects. */
export interface AuditTrail {
  /** The operation that notes a change, for the batch that makes it. */
  entry(caller: AuditCaller, facts: Omit<AuditFacts, "outcome">): BatchOperation;
  /** What follows an entry, oldest first. */
  page(account: string, page: AuditPage): Promise<readonly NumberedAuditEntry[]>;
  note(request: FastifyRequest, principal: Principal | undefined, facts: AuditFacts): Promise<void>;
  /** The same, for a caller that is known. */
  noteOf(caller: AuditCaller, facts: AuditFacts): Promise<void>;
}

/** The audit trail of the registry, as that of the whole server: an account has one. */
export function registryAudit(registry: Registry, region: string): AuditTrail {
  const note = async (
    account: string | undefined,
    context: RequestContext,
    credential: string | undefined,
    { action, target, outcome }: AuditFacts,
  ): Promise<void> => {
    const details = credential === undefined ? {} : { credential };
    const facts = { action, target, outcome, details };
    const scope = account === undefined ? undefined : { account, region };
    if (outcome === "done" && scope !== undefined) await registry.note(scope, context, facts);
    else await registry.auditRefusal(scope, context, facts);
  };
  return {
    entry: ({ account, actor, requestId, remoteAddress, credential }, facts) => {
      const details = credential === undefined ? {} : { credential };
      const context = { actor, requestId, remoteAddress };
      return registry.auditEntry({ account, region }, context, { ...facts, details });
    },
    page: async (account, page) => registry.auditPage({ account, region }, page),
    note: async ({ id, ip }, principal, facts) => {
      const context = { actor: principal?.actor ?? "", requestId: id, remoteAddress: ip };
      await note(principal?.account, context, principal?.credential, facts);
    },
    noteOf: async ({ account, actor, requestId, remoteAddress, credential }, facts) =>
      note(account, { actor, requestId, remoteAddress }, credential, facts),
  };
}
