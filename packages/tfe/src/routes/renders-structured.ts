import type { FastifyRequest } from "fastify";

/**
 * Whether a request is of a command that renders structured output: from its version 1.4 on, with the `cloud` block. The backend `remote`
 * would print lines for programs as they are.
 */
export function rendersStructured({ headers }: Pick<FastifyRequest, "headers">): boolean {
  if (headers["x-terraform-integration"] !== "cloud") return false;
  const [, major = "0", minor = "0"] =
    /^(\d+)\.(\d+)/.exec(String(headers["terraform-version"])) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 4);
}
