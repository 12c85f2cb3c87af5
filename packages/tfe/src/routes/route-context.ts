import type { FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import type { Document } from "../json-api/document.ts";
import { RequestDocument } from "../json-api/request-document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { TfePort } from "../port/tfe-port.ts";
import type { TfeWorkspace } from "../port/workspace-port.ts";
import { readAddress, signAddress } from "../signed-address.ts";

/** Bytes of a JSON body. */
const BODY_BYTES = 8 * 1024 ** 2;
const MEDIA_TYPE = "application/vnd.api+json";

/** What the routes work with. */
export interface RouteContext {
  readonly port: TfePort;
  /** Path under which the routes are, such as `/api/v2`. */
  readonly prefix: string;
  readonly callers: WeakMap<FastifyRequest, TfeCaller>;
  /** On whose behalf signed addresses are used. */
  readonly signers: WeakMap<FastifyRequest, Signer>;
}

/** Options of the routes of changes that administrators make: their rights are those of now. */
export const ADMINISTERS = { config: { administers: true } } as const;

/** Whether the rights of a caller have to be those of now; who is no administrator by what is known is refused in any case. */
export function needsCurrentRights(
  request: FastifyRequest,
  { isAdmin, adminProjects = [] }: TfeCaller,
): boolean {
  const { administers = false } = request.routeOptions.config;
  return administers && (isAdmin || adminProjects.length > 0);
}

type InOrganization = { readonly organization: string };
type InWorkspace = { readonly workspace: string };

export function callerOf({ callers }: RouteContext, request: FastifyRequest): TfeCaller {
  const caller = callers.get(request);
  if (caller === undefined) throw new TfeError("TFE_UNAUTHORIZED");
  return caller;
}

/** The caller of a route of an organization, which is its account. Another organization does not exist. */
export function memberOf(
  context: RouteContext,
  request: FastifyRequest<{ Params: InOrganization }>,
): TfeCaller {
  const caller = callerOf(context, request);
  if (request.params.organization !== caller.account) throw new TfeError("TFE_NOT_FOUND");
  return caller;
}

/** `TFE_FORBIDDEN` for callers that only read. */
export function requireOperator({ actor, isOperator }: TfeCaller): void {
  if (isOperator) return;
  throw new TfeError(
    "TFE_FORBIDDEN",
    `${actor} is not allowed to do this; it needs the role registry:deployer`,
  );
}

export function requireAdmin({ actor, isAdmin }: TfeCaller, what: string): void {
  if (isAdmin) return;
  throw new TfeError(
    "TFE_FORBIDDEN",
    `${actor} is not allowed to ${what}; it needs the role registry:admin`,
  );
}

/** The workspace of a route: `:workspace` is its id. */
export async function workspaceOf(
  context: RouteContext,
  request: FastifyRequest<{ Params: InWorkspace }>,
): Promise<TfeWorkspace> {
  return workspaceById(context, request, request.params.workspace);
}

/** `TFE_NOT_FOUND` for another id than one of a workspace that the caller sees. */
export async function workspaceById(
  context: RouteContext,
  request: FastifyRequest,
  id: string,
): Promise<TfeWorkspace> {
  const caller = callerOf(context, request);
  const found = await context.port.workspaces.get(caller, workspaceKey(id));
  if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
  return found;
}

/** What a port finds a workspace by. `TFE_NOT_FOUND` for what is not an id of a workspace. */
export function workspaceKey(id: string): string {
  if (id.startsWith("ws-")) return id.slice("ws-".length);
  throw new TfeError("TFE_NOT_FOUND");
}

/** The bytes of a body. `TFE_TOO_LARGE`. */
export async function readBody(request: FastifyRequest, maxBytes = BODY_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new TfeError("TFE_TOO_LARGE");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The bytes of the body of a caller, who is judged again when all of them are there: that may be long after the head, and rights be taken away
 * meanwhile. `TFE_FORBIDDEN` where they have changed.
 */
export async function bodyOf(context: RouteContext, request: FastifyRequest): Promise<Buffer> {
  const body = await readBody(request);
  const before = callerOf(context, request);
  const isCurrent = needsCurrentRights(request, before);
  const now = await context.port.authenticate(request, { isCurrent });
  if (rightsText(now) === rightsText(before)) return body;
  throw new TfeError("TFE_FORBIDDEN", "the rights of the credential have changed");
}

export async function documentOf(
  context: RouteContext,
  request: FastifyRequest,
): Promise<RequestDocument> {
  return RequestDocument.read(await bodyOf(context, request));
}

function rightsText({
  account,
  actor,
  isOperator,
  isAdmin,
  adminProjects = [],
  projects,
}: TfeCaller): string {
  const rights = [account, actor, isOperator, isAdmin];
  return JSON.stringify([...rights, adminProjects.toSorted(), ...projects.toSorted()]);
}

export function send(reply: FastifyReply, document: Document, status = 200): FastifyReply {
  return reply.code(status).type(MEDIA_TYPE).send(JSON.stringify(document));
}

/** Who an address was made for, beside what it is for. */
export interface Signer {
  readonly account: string;
  readonly actor: string;
  /** Absent in those of an older release, which live for a day. */
  readonly credential?: string;
  readonly mayOperate?: boolean;
}

/** An absolute address that needs no token. It is of use as long as the credential of the request is valid, and may do what it could. */
export async function addressOf(
  context: RouteContext,
  request: FastifyRequest,
  path: string,
  target: object,
  lifeMs: number,
): Promise<string> {
  const { port, prefix } = context;
  const { credential, isOperator: mayOperate } = callerOf(context, request);
  const whole = { ...target, credential, mayOperate };
  const signed = signAddress(await port.addressKey(), whole, port.wallMs() + lifeMs);
  return `${request.protocol}://${request.host}${prefix}/${path}/${signed}`;
}

/** What such an address is for, and on whose behalf it is used now. */
interface Signed<T> {
  readonly target: T;
  readonly signer: TfeCaller;
}

/**
 * What such an address is for. It counts as a request of the caller that it was made for, with the rights that it has now; with `inTurn` it
 * waits where that one makes too many. `TFE_FORBIDDEN` where that one has lost the right to it.
 */
export async function signedTarget<T extends { readonly kind: string }>(
  { port, signers }: RouteContext,
  request: FastifyRequest<{ Params: { readonly signed: string } }>,
  { inTurn = false }: { readonly inTurn?: boolean } = {},
): Promise<Signed<T>> {
  const target = readAddress(await port.addressKey(), request.params.signed, port.wallMs());
  signers.set(request, target as Signer);
  if (inTurn) await port.admitInTurn(target as Signer);
  else port.admit(target as Signer);
  return { target: target as T, signer: await signerOf(port, target as Signer) };
}

async function signerOf(port: TfePort, signed: Signer): Promise<TfeCaller> {
  const { account, actor, credential, mayOperate } = signed;
  const at = { account, actor, isOperator: true, isAdmin: false };
  // Of an older release: an operator, as other callers got none.
  if (credential === undefined) return { ...at, credential: actor, projects: [] };
  const { isOperator, projects } = await port.callerOf(credential);
  if (mayOperate === true && !isOperator) {
    throw new TfeError("TFE_FORBIDDEN", "the rights of the credential have changed");
  }
  // The projects that it sees by now.
  return { ...at, credential, projects };
}

/** Aborts when the connection of an upload ends before its last byte. */
export function uploadSignal({ raw }: FastifyRequest): AbortSignal {
  const ended = new AbortController();
  raw.once("close", () => {
    if (!raw.complete) ended.abort(new TfeError("TFE_INVALID_REQUEST", "the upload broke off"));
  });
  return ended.signal;
}
