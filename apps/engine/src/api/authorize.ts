import { type Authenticator, type Principal, principalIn } from "@stackwright/registry";
import { isSignatureHeader } from "@stackwright/request-signing";
import type { FastifyRequest } from "fastify";
import { ServerError } from "../domain/server-error.ts";
import { type ApiRole, requireApiRole } from "./api-roles.ts";

/** The caller with the roles that it has where a request goes, if it is allowed to make it: its role is that of the route, and it sees the project and the stack. */
export function authorize(request: FastifyRequest, principal: Principal): Principal {
  const { access = "admin" } = request.routeOptions.config;
  if (access === "run") {
    throw new ServerError("forbidden", "this needs the token of a claim");
  }
  const { project, stack } = (request.params ?? {}) as { project?: string; stack?: string };
  if (project === undefined) {
    requireApiRole(principal, access);
    if (!isForStacks(request, access)) requireAllStacks(principal);
    return principal;
  }
  const there = principalIn(principal, project);
  // Without any role in the account, nothing is hidden behind an answer that says so.
  if (there === undefined && principal.projects.length === 0) requireApiRole(principal, access);
  if (there === undefined || !seesProject(there, project)) {
    throw new ServerError("not_found", `there is no project "${project.slice(0, 64)}"`);
  }
  requireApiRole(there, access);
  if (stack === undefined) {
    if (!isForStacks(request, access)) requireAllStacks(there);
  } else if (!seesStack(there, project, stack)) {
    throw new ServerError("not_found", `there is no stack "${stack.slice(0, 64)}"`);
  }
  return there;
}

/** Whether a caller has a role in a project, and may see anything of it. */
export function seesProject(principal: Principal, project: string): boolean {
  if (principalIn(principal, project) === undefined) return false;
  const { stacks = [] } = principal;
  return stacks.length === 0 || stacks.some((one) => one.startsWith(`${project}/`));
}

/** Whether a caller may see a stack of a project that it sees: without a list of stacks it sees all. */
export function seesStack({ stacks = [] }: Principal, project: string, stack: string): boolean {
  return stacks.length === 0 || stacks.includes(`${project}/${stack}`);
}

/** Whether what a route without a stack answers leaves out the stacks that the caller may not see. */
function isForStacks(request: FastifyRequest, access: ApiRole): boolean {
  return access === "self" || request.routeOptions.config.limitsStacks === true;
}

/** `forbidden` for a caller who is limited to some stacks. */
export function requireAllStacks({ actor, stacks = [] }: Principal): void {
  if (stacks.length === 0) return;
  throw new ServerError("forbidden", `${actor} is limited to the stacks ${stacks.join(", ")}`);
}

/**
 * Who has the token of a request. Signatures cover a body, which is not read yet: they are refused.
 *
 * @param authorization what the header of that name would say, where the token is somewhere else
 */
export async function authenticateToken(
  authenticator: Authenticator,
  request: FastifyRequest,
  authorization?: string,
): Promise<Principal> {
  const { authorization: given } = request.headers;
  if (given !== undefined && isSignatureHeader(given)) {
    throw new ServerError("unauthenticated", "this API takes a token, not a signature");
  }
  const { rawHeaders } = request.raw;
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const isReplaced = authorization !== undefined && name.toLowerCase() === "authorization";
    headers.push([name, isReplaced ? authorization : (rawHeaders[at + 1] ?? "")]);
  }
  const target = request.raw.url ?? request.url;
  return authenticator.authenticate({
    method: request.method,
    target,
    headers,
    body: new Uint8Array(),
  });
}
