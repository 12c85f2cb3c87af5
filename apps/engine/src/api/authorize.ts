import type { Authenticator, Principal } from "@stackwright/registry";
import { isSignatureHeader } from "@stackwright/request-signing";
import type { FastifyRequest } from "fastify";
import { ServerError } from "../domain/server-error.ts";
import { requireApiRole } from "./api-roles.ts";

/** Who sent a request, if that is allowed to make it: its role is that of the route, and it sees the project. */
export async function authorize(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Principal> {
  const principal = await authenticateToken(authenticator, request);
  const { access = "admin" } = request.routeOptions.config;
  if (access === "run") {
    throw new ServerError("forbidden", "this needs the token of a claim");
  }
  requireApiRole(principal, access);
  const { project } = (request.params ?? {}) as { project?: string };
  if (project !== undefined && !seesProject(principal, project)) {
    throw new ServerError("not_found", `there is no project "${project.slice(0, 64)}"`);
  }
  return principal;
}

/** Whether a credential is for a project: without a list of projects it is for all. */
export function seesProject({ projects }: Pick<Principal, "projects">, project: string): boolean {
  return projects.length === 0 || projects.includes(project);
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
