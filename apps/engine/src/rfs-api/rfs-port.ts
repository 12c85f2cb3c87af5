import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import {
  type Authenticator,
  type CredentialStore,
  type Principal,
  principalIn,
} from "@stackwright/registry";
import {
  type ContentTarget,
  type RfsAccess,
  type RfsCaller,
  type RfsChange,
  type RfsOpenChange,
  RfsStacksError,
  type RfsStacksPort,
} from "@stackwright/rfs-stacks";
import { readAddress, signAddress, TfeError } from "@stackwright/tfe";
import type { Fetch } from "@stackwright/tfplugin/install";
import { type AddressSigner, findSigner, signerOf } from "../access/address-signer.ts";
import { ChangeEntry } from "../access/change-entry.ts";
import type { AuditCaller, AuditTrail } from "../access/registry-audit.ts";
import { requireApiRole } from "../api/api-roles.ts";
import { requireAllStacks, seesProject, seesStack } from "../api/authorize.ts";
import { serverErrorOf } from "../api/problem.ts";
import { isServerError, SERVER_ERRORS, ServerError } from "../domain/server-error.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { rfsPlans } from "./rfs-plans.ts";
import { rfsStackSets } from "./rfs-stack-sets.ts";
import { rfsStacks } from "./rfs-stacks.ts";
import { rfsTemplates } from "./rfs-templates.ts";

interface RfsPortParts extends RfsParts {
  readonly audit: AuditTrail;
  readonly authenticator: Authenticator;
  /** Says what the credential may do now that an address was made for. */
  readonly credentials: Pick<CredentialStore, "principalOf">;
  readonly addressKey: () => Promise<Uint8Array>;
  /** Reaches the networks that the operator allows, and no others. */
  readonly fetch: Fetch;
  /** Requests per credential. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
}

const RATE_LIMIT: RateLimit = Object.freeze({ perSecond: 200, burst: 2_000 });
/** How long the read of an address may take. */
const READ_MS = 20_000;

/** This server for the RFS API: a project of the service is a project of the account that the credential belongs to. */
export function createRfsPort(parts: RfsPortParts): RfsStacksPort {
  const { clock, authenticator, addressKey } = parts;
  const limiter = new KeyedRateLimiter(parts.rateLimit ?? RATE_LIMIT, () => clock.monotonicMs());
  const principals = new WeakMap<RfsCaller, Principal>();
  const port: RfsStacksPort = {
    authenticate: async (request) => {
      const principal = await authenticator.authenticate(request);
      const caller = callerOf(principal);
      principals.set(caller, principal);
      return caller;
    },
    admit: ({ account, actor }) => {
      const retryAfterMs = limiter.take(`${account}\0${actor}`);
      if (retryAfterMs === 0) return;
      throw new ServerError("rate_limited", "the credential makes too many requests", {
        retryAfterMs,
      });
    },
    failureOf: (error) => {
      const { code, message, retryAfterMs } = serverErrorOf(error);
      const { httpStatus: status = 500 } = SERVER_ERRORS[code];
      return {
        status,
        detail: message,
        ...(code === "deletion_protected" && { code: "RFS_STACK_PROTECTED" as const }),
        ...(status === 429 && { retryAfterMs }),
      };
    },
    read: async (address, maxBytes, signal) => readBounded(parts.fetch, address, maxBytes, signal),
    signContent: async (caller, target, lifeMs) => {
      const principal = principals.get(caller);
      if (principal === undefined) throw new ServerError("unauthenticated");
      const whole = { ...target, ...signerOf(principal) };
      return signAddress(await addressKey(), whole, clock.wallMs() + lifeMs);
    },
    readContentAddress: async (signed) => {
      try {
        const read = readAddress(await addressKey(), signed, clock.wallMs());
        const target = read as ContentTarget & AddressSigner;
        const signer = await findSigner(parts.credentials, target);
        if (signer === undefined) return undefined;
        if (signer !== "unknown") {
          const caller = callerOf(signer);
          port.admit(caller);
          requireContent(caller, target);
        }
        return target;
      } catch (error) {
        const isRefused =
          error instanceof TfeError || isServerError(error, "forbidden", "not_found");
        if (isRefused) return undefined;
        throw error;
      }
    },
    change: (change) => openChange(parts, port, principals.get(change.caller), change),
    markerKey: addressKey,
    ...portsOf(parts),
  };
  return port;
}

/** Throws unless a caller may still read what an address is for. */
function requireContent(caller: RfsCaller, target: ContentTarget): void {
  if (target.kind === "stack-set") caller.requireAccount("viewer");
  else if (target.kind === "stack") caller.require(target.project, "viewer", target.name);
  else caller.require(target.project, "viewer");
}

function portsOf(
  parts: RfsParts,
): Pick<RfsStacksPort, "stacks" | "plans" | "templates" | "stackSets"> {
  return {
    stacks: rfsStacks(parts),
    plans: rfsPlans(parts),
    templates: rfsTemplates(parts),
    stackSets: rfsStackSets(parts),
  };
}

/** A change whose entry in the audit trail is in the batch that makes it; what no batch notes, as a refusal, is noted with the answer. */
function openChange(
  parts: RfsPortParts,
  port: RfsStacksPort,
  principal: Principal | undefined,
  { caller, action, target, requestId, remoteAddress }: RfsChange,
): RfsOpenChange {
  const { credential } = principal ?? {};
  const { account, actor } = caller;
  const who: AuditCaller = {
    account,
    actor,
    ...(credential !== undefined && { credential }),
    requestId,
    remoteAddress,
  };
  const companion = new ChangeEntry(() => parts.audit.entry(who, { action, target }));
  return {
    port: { ...port, ...portsOf({ ...parts, companion }) },
    ended: async (status) => {
      if (status >= 500 || (status < 400 && companion.isWritten)) return;
      const outcome = status < 400 ? "done" : `HTTP_${status}`;
      await parts.audit.noteOf(who, { action, target, outcome });
    },
  };
}

/** The content of an address that a request names. What went wrong is said without the answer, which may be of a server that the caller does not see. */
async function readBounded(
  fetch: Fetch,
  address: URL,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const where = `${address.origin}${address.pathname}`;
  const until = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    const answer = await fetch(address, { signal: until });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new RfsStacksError("RFS_ADDRESS_REFUSED", `${where} answered ${answer.status}`);
    }
    for await (const chunk of answer.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) {
        throw new RfsStacksError("RFS_ADDRESS_REFUSED", `${where} has more than ${maxBytes} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RfsStacksError) throw error;
    throw new RfsStacksError(
      "RFS_ADDRESS_REFUSED",
      `${where} cannot be read: it has to be reachable with TLS, and outside of private networks unless the operator allows them`,
      { cause: error },
    );
  }
  return Buffer.concat(chunks);
}

/** The caller of a request, with the roles that it has in the project that the request names. */
function callerOf(principal: Principal): RfsCaller {
  const { account, actor } = principal;
  const requireSome = (project: string, access: RfsAccess): Principal => {
    const there = principalIn(principal, project);
    if (there === undefined || !seesProject(there, project)) {
      throw new ServerError("forbidden", `${actor} has no role in the project "${project}"`);
    }
    requireApiRole(there, access);
    return there;
  };
  return {
    account,
    actor,
    requireSome: (project, access) => void requireSome(project, access),
    require: (project, access, stack) => {
      const there = requireSome(project, access);
      if (stack === undefined) return requireAllStacks(there);
      if (seesStack(there, project, stack)) return undefined;
      throw new ServerError("not_found", `there is no stack "${stack.slice(0, 64)}"`);
    },
    requireAccount: (access) => {
      const { projects, stacks = [] } = principal;
      if (projects.length > 0 || stacks.length > 0) {
        const limits = stacks.length > 0 ? stacks : projects;
        throw new ServerError(
          "forbidden",
          `${actor} is limited to ${limits.join(", ")}, and this is for all of the account`,
        );
      }
      requireApiRole(principal, access);
    },
    sees: (project, stack) => seesStack(principal, project, stack),
  };
}
