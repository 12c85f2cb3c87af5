import { createHash, randomBytes } from "node:crypto";
import { tenancyOf } from "@stackwright/storage";
import {
  FENCE_KIND,
  type RunReference,
  runOfTicket,
  ticketPlace,
  WORKER_LEASE,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type RunClaim, STEPS } from "./claim.ts";
import { Transaction, type TransactionParts } from "./transaction.ts";

/** What tokens of claims begin with: they name their ticket, so that every server of the store can look whether they are valid. */
const PREFIX = "swc_";
const FORM = /^swc_([A-Za-z0-9_-]{1,1024})\.[A-Za-z0-9_-]{43}$/;

/** Makes a token for the claim of a ticket. It is valid as long as the ticket has its digest. */
export function createRunToken({ stack, run }: RunReference): string {
  const place = JSON.stringify([stack.account, stack.project, stack.stack, run]);
  const secret = randomBytes(32).toString("base64url");
  return `${PREFIX}${Buffer.from(place).toString("base64url")}.${secret}`;
}

/** What a ticket stores of a token. */
export function digestOfRunToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Whether a text has the form of such a token; every other credential has another one. */
export function isRunToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** A claim as its token finds it. */
interface StoredClaim {
  readonly claim: RunClaim;
  /** Whether the token may write the state of the stack. */
  readonly writesState: boolean;
}

/**
 * The claim of a token, as every server finds it in the store; undefined for a token whose claim has ended, was released, or never
 * was. The claim ends with the lease of its worker: a token of a worker that was relieved is not valid.
 */
export async function findClaim(
  parts: TransactionParts,
  token: string,
): Promise<StoredClaim | undefined> {
  const place = placeOf(token);
  if (place === undefined) return undefined;
  const tx = new Transaction(parts);
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(place));
  const { claim } = ticket?.message ?? {};
  if (ticket === undefined || claim === undefined) return undefined;
  const tokenDigest = digestOfRunToken(token);
  const step = STEPS[ticket.message.step];
  if (claim.tokenDigest !== tokenDigest || step === undefined) return undefined;
  const lease = { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${claim.worker}` };
  const fence = await tx.find(FENCE_KIND, lease);
  if (fence === undefined || fence.message.epoch !== claim.epoch) return undefined;
  const { id, version } = fence.resource;
  const worker = { id: claim.worker, epoch: claim.epoch, guard: { id, version } };
  const reference = runOfTicket(ticket.id.tenancy, ticket.message);
  const { attempts, background, traceParent } = ticket.message;
  return {
    claim: {
      reference,
      step,
      ticket: ticket.id,
      worker,
      tokenDigest,
      attempts,
      background,
      cancelStage: 0,
      traceParent,
    },
    writesState: claim.writesState,
  };
}

function placeOf(token: string): RunReference | undefined {
  const [, encoded] = FORM.exec(token) ?? [];
  if (encoded === undefined) return undefined;
  let place: unknown;
  try {
    place = JSON.parse(Buffer.from(encoded, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (!Array.isArray(place) || place.length !== 4) return undefined;
  if (!place.every((part) => typeof part === "string" && NAME.test(part))) return undefined;
  const [account = "", project = "", stack = "", run = ""] = place as string[];
  return { stack: { account, project, stack }, run };
}

const NAME = /^[0-9A-Za-z_.-]{1,128}$/;
